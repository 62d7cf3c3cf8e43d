"""Times a pFedBayes client step of a Gaussian VGG here and in PyTorch, one thread each, and prints the ratio.

Ours is a Go benchmark, run by this script; the same step in PyTorch is below: batch 100 of CIFAR-10's size, 3x3
convolutions to 16, 32, 64, 128 and 128 channels, each with ReLU and 2x2 max-pooling, and a linear layer; one draw of the
weights, n/b * NLL + zeta * KL for q and KL for w, gradients of both by autograd, Adam for both. PyTorch is timed in both
of its memory layouts, by the median of rounds of 3 steps, and the ratio is to the faster one.

    pip install torch && python3 scripts/compare/vgg_step.py
"""

import pathlib
import re
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
BATCH, OUT, N, ZETA = 100, 10, 2500, 1.0
CHANNELS = [3, 16, 32, 64, 128, 128]
SHAPES = [s for i, o in zip(CHANNELS, CHANNELS[1:]) for s in ((o, i, 3, 3), (o,))] + [(OUT, 128), (OUT,)]


def gaussian():
    mu = [(0.1 * torch.randn(s)).requires_grad_() for s in SHAPES]
    rho = [torch.full(s, -5.0).requires_grad_() for s in SHAPES]
    return mu, rho


def kl(mq, rq, mw, rw):
    total = 0
    for a, b, c, d in zip(mq, rq, mw, rw):
        sq, sw = F.softplus(b), F.softplus(d)
        total = total + (sw.log() - sq.log() + (sq**2 + (a - c) ** 2) / (2 * sw**2) - 0.5).sum()
    return total


def step(q, w, opt_q, opt_w, x, y, layout):
    theta = [m + F.softplus(r) * torch.randn_like(m) for m, r in zip(*q)]
    for i in range(0, 10, 2):
        kernel = theta[i].contiguous(memory_format=layout)
        x = F.max_pool2d(F.relu(F.conv2d(x, kernel, theta[i + 1], padding=1)), 2)
    logits = F.linear(x.flatten(1), theta[10], theta[11])
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


def measure(layout):
    torch.manual_seed(1)
    q, w = gaussian(), gaussian()
    opt_q = torch.optim.Adam(q[0] + q[1], lr=1e-3)
    opt_w = torch.optim.Adam(w[0] + w[1], lr=1e-3)
    x = torch.randn(3 * BATCH, 3, 32, 32).contiguous(memory_format=layout)
    y = torch.randint(OUT, (3 * BATCH,))
    times = []
    for _ in range(11):
        began = time.perf_counter()
        for i in range(3):
            at = slice(i * BATCH, (i + 1) * BATCH)
            step(q, w, opt_q, opt_w, x[at], y[at], layout)
        times.append((time.perf_counter() - began) / 3 * 1e6)
    return statistics.median(times)


OURS = "go test ./graph -run - -bench Where/vgg/avx -benchtime 100x -cpu 1"


def ours():
    root = pathlib.Path(__file__).parents[2]
    out = subprocess.run(OURS.split(), cwd=root, check=True, capture_output=True, text=True).stdout
    return {isa: float(us) for isa, us in re.findall(r"Where/vgg/(\w+).*?([\d.]+) µs-all", out)}


def main():
    here = ours()
    torchs = {layout: measure(layout) for layout in (torch.contiguous_format, torch.channels_last)}
    for layout, us in torchs.items():
        print(f"torch {torch.__version__}, {layout}: {us:.0f} µs a step")
    for isa, us in here.items():
        print(f"fedbayes, {isa}: {us:.0f} µs a step, {min(torchs.values()) / us:.2f} times as fast")


if __name__ == "__main__":
    main()
