#!/bin/sh
# Runs the paper's second network on CIFAR-10: pFedBayes, FedAvg and local on VGG, 20 clients of 5 labels, 10 a round, in
# the regimes small and medium, 200 rounds, an evaluation each 20 rounds.
#
#   scripts/paper_cifar10.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# Flags after -- go before these. It wants the data (see "fedbayes datasets cifar10"), and takes some hours for three seeds;
# it can be stopped and started again, see sweep.sh. scripts/table.sh makes a table of each CSV that it leaves.
set -eu
if [ $# -eq 0 ]; then set -- 1 2 3; fi
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac
for regime in small medium; do
	sh "$(dirname "$0")/sweep.sh" algo "pfedbayes fedavg local" "$@" -- \
		'dataset = "cifar10"' 'model = "vgg"' "regime = \"$regime\"" 'batch = 50' 'rounds = 200' 'eval-every = 20'
done
