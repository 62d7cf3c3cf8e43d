#!/bin/sh
# Runs the paper's second network on CIFAR-10: pFedBayes, FedAvg and local on VGG, 20 clients of 5 labels, 10 a round, in
# the regimes small (200 rounds) and medium (300 rounds), an evaluation each 20 rounds.
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
run() {
	regime=$1
	methods=$2
	shift 2
	sh "$(dirname "$0")/sweep.sh" algo "$methods" "$@" \
		'dataset = "cifar10"' 'model = "vgg"' "regime = \"$regime\"" 'batch = 50' 'eval-every = 20'
}
run small "pfedbayes fedavg local" "$@" -- 'rounds = 200'
# A client of the medium regime has four times the images: it can do with more weight on the prior, and with longer steps.
run medium pfedbayes "$@" -- 'rounds = 300' 'zeta = 5' 'lr = 0.003' 'lr-global = 0.003'
run medium "fedavg local" "$@" -- 'rounds = 300'
