#!/bin/sh
# Runs the paper's table on MNIST: all of its methods and some more on the network 784-100-10, ten clients of 5 labels, in the
# regimes small, medium and large, and then the small one of Fashion-MNIST. 800 rounds, an evaluation each 50 rounds; bnfed,
# whose rounds match the clients' units and make the network wider, 5 rounds of 10 epochs.
#
#   scripts/paper_mnist.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# Seeds are 1 2 3 if none is given. It leaves results/paper_mnist.csv with all evaluations, and results/paper_mnist.md, which
# is paper_table.sh's table of them; both grow as runs are done, one after the other, as each takes all cores. It wants the
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
epochs="--local-epochs 10"
partition=1
for argument; do
	case $argument in # what excludes a default
	--local-*) epochs= ;;
	--train-per-class* | --test-per-class* | --partition*) partition= ;;
	esac
done

scripts=$(cd "$(dirname "$0")" && pwd)
results=${SWEEP_DIR:-$scripts/../results}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
(cd "$scripts/.." && go build -o "$tmp/fedbayes" .) # once, so that all runs are of one program
export SWEEP_PROGRAM="$tmp/fedbayes"

# runs DATA/REGIME "METHOD..." [FLAGS OF THE USER...] -- DEFAULTS...
runs() {
	of=$1
	methods=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	SWEEP_CSV=$tmp/sweep.csv sh "$scripts/sweep.sh" algo "$methods" $seeds "$@" \
		--dataset "${of%/*}" ${partition:+--regime "${of#*/}"}
	cat "$tmp/sweep.csv" >>"$tmp/all.csv"
	awk '!there[$0]++' "$tmp/all.csv" >"$tmp/once.csv" # one header
	sh "$scripts/paper_table.sh" "$tmp/once.csv" >"$tmp/table.md"
	cp "$tmp/once.csv" "$results/paper_mnist.csv"
	cp "$tmp/table.md" "$results/paper_mnist.md"
}

tables="mnist/small mnist/medium mnist/large fashion-mnist/small"
for of in $tables; do
	runs $of "pfedbayes fedavg fedprox perfedavg pfedme fedamp heurfedamp ditto local" "$@" -- --rounds 800 --eval-every 50
	# shellcheck disable=SC2086 # a list of words
	runs $of bnfed "$@" -- --rounds 5 $epochs --eval-every 1
done
for of in $tables; do # last, as it takes longer than all others
	runs $of pfedgp "$@" -- --rounds 800 --eval-every 50
done
echo "all evaluations: $results/paper_mnist.csv; their table: $results/paper_mnist.md"
