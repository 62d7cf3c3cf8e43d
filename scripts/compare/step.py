"""Times a pFedBayes client step in PyTorch, as `go test ./algorithms -run - -bench Step/pfedbayes -cpu 1` times ours.

The same step: batch 100, network 784-100-10, one draw of the weights, n/b * NLL + zeta * KL for q and KL for w, gradients
of both by autograd, Adam for both. One thread. Prints microseconds a step: the median of rounds of 20 steps.

    pip install torch && python3 scripts/compare/step.py
"""

import statistics
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(1)
BATCH, IN, HIDDEN, OUT, N, ZETA = 100, 784, 100, 10, 300, 10.0
SHAPES = [(IN, HIDDEN), (HIDDEN,), (HIDDEN, OUT), (OUT,)]


def gaussian():
    mu = [(0.1 * torch.randn(s)).requires_grad_() for s in SHAPES]
    rho = [torch.full(s, -2.5).requires_grad_() for s in SHAPES]
    return mu, rho


def kl(mq, rq, mw, rw):
    total = 0
    for a, b, c, d in zip(mq, rq, mw, rw):
        sq, sw = F.softplus(b), F.softplus(d)
        total = total + (sw.log() - sq.log() + (sq**2 + (a - c) ** 2) / (2 * sw**2) - 0.5).sum()
    return total


def step(q, w, opt_q, opt_w, x, y):
    w1, b1, w2, b2 = (m + F.softplus(r) * torch.randn_like(m) for m, r in zip(*q))
    logits = F.relu(x @ w1 + b1) @ w2 + b2
    nll = F.cross_entropy(logits, y, reduction="sum")
    still = lambda g: [[t.detach() for t in part] for part in g]
    personal = N / BATCH * nll + ZETA * kl(*q, *still(w))
    local = kl(*still(q), *w)
    opt_q.zero_grad()
    opt_w.zero_grad()
    (personal + local).backward()
    opt_q.step()
    opt_w.step()
    return nll.item()


def main():
    q, w = gaussian(), gaussian()
    opt_q = torch.optim.Adam(q[0] + q[1], lr=1e-3)
    opt_w = torch.optim.Adam(w[0] + w[1], lr=1e-3)
    x = torch.rand(N, IN).sub(0.8).clamp(min=0)
    y = torch.randint(OUT, (N,))
    times = []
    for _ in range(30):
        began = time.perf_counter()
        for i in range(20):
            at = torch.arange(BATCH) + i % 3 * BATCH
            step(q, w, opt_q, opt_w, x[at], y[at])
        times.append((time.perf_counter() - began) / 20 * 1e6)
    print(f"torch {torch.__version__}: {statistics.median(times):.0f} µs a step")


if __name__ == "__main__":
    main()
