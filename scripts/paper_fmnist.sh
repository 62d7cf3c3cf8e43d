#!/bin/sh
# Runs the paper's comparison on Fashion-MNIST: pFedBayes, FedAvg and local on the network 784-100-10, ten clients of 5
# labels, in the regimes large, medium and small, 800 rounds, an evaluation each 50 rounds.
#
#   scripts/paper_fmnist.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# It wants all of Fashion-MNIST (see "fedbayes datasets fashion-mnist") and can be stopped and started again, see sweep.sh.
# scripts/table.sh makes a table of each CSV that it leaves.
set -eu
if [ $# -eq 0 ]; then set -- 1 2 3; fi
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac
# Large comes first: without the files train takes a sample, which is too small for it, and that is the end.
for regime in large medium small; do
	sh "$(dirname "$0")/sweep.sh" algo "pfedbayes fedavg local" "$@" -- \
		'dataset = "fashion-mnist"' "regime = \"$regime\"" 'preset = "paper"' 'rounds = 800' 'eval-every = 50'
done
