#!/bin/sh
# Runs the paper's table on MNIST: all of its methods and some more on the network 784-100-10, ten clients of 5 labels, in the
# regimes small, medium and large, and then the small one of Fashion-MNIST. 800 rounds, an evaluation each 50 rounds; bnfed,
# whose rounds match the clients' units and make the network wider, 5 rounds of 10 epochs; pfedgp with one step a round, as
# its public code takes.
#
#   scripts/paper_mnist.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# Seeds are 1 2 3 if none is given. It leaves results/paper_mnist.csv with all evaluations, and results/paper_mnist.md, which
# is paper_table.sh's table of them; both grow with each of its sweeps, which run one after the other. It wants the
# data (see "fedbayes datasets mnist"), and takes hours; it can be stopped and started again, see sweep.sh, where $SWEEP_DIR
# is explained too.
set -eu
seeds=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	seeds="$seeds $1"
	shift
done
: "${seeds:=1 2 3}"
if [ $# -eq 0 ]; then set -- --; fi

scripts=$(cd "$(dirname "$0")" && pwd)
results=${SWEEP_DIR:-$scripts/../results}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! "${SWEEP_PROGRAM:-}" ]; then # built once, so that all runs are of one program
	(cd "$scripts/.." && go build -o "$tmp/fedbayes" .)
	export SWEEP_PROGRAM="$tmp/fedbayes"
fi

# runs DATA/REGIME "METHOD..." [-- FLAGS OF THE USER...] -- SETTINGS...
runs() {
	of=$1
	methods=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	SWEEP_CSV=$tmp/sweep.csv sh "$scripts/sweep.sh" algo "$methods" $seeds "$@" \
		"dataset = \"${of%/*}\"" "regime = \"${of#*/}\""
	cat "$tmp/sweep.csv" >>"$tmp/all.csv"
	# One header, and one row for an evaluation, also where the user's flags make two of the tables one.
	awk -F, '!there[$1, $4, $5, $6, $7, $8]++' "$tmp/all.csv" >"$tmp/once.csv"
	sh "$scripts/paper_table.sh" "$tmp/once.csv" >"$tmp/table.md"
	cp "$tmp/once.csv" "$results/paper_mnist.csv"
	cp "$tmp/table.md" "$results/paper_mnist.md"
}

tables="mnist/small mnist/medium mnist/large fashion-mnist/small"
for of in $tables; do
	runs $of "pfedbayes fedavg fedprox perfedavg fedamp heurfedamp ditto local" "$@" -- 'rounds = 800' 'eval-every = 50'
	runs $of bnfed "$@" -- 'rounds = 5' 'local-epochs = 10' 'eval-every = 1'
done
for of in $tables; do # last, as they take longer than all others
	runs $of pfedgp "$@" -- 'rounds = 800' 'local-steps = 1' 'lr = 0.05' 'eval-every = 50'
done
for of in $tables; do
	runs $of pfedme "$@" -- 'rounds = 800' 'eval-every = 50'
done
echo "all evaluations: $results/paper_mnist.csv; their table: $results/paper_mnist.md"
