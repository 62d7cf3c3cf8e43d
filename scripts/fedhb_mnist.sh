#!/bin/sh
# Runs FedHB on MNIST: ten clients of 5 labels, small regime, the network 784-100-10, 800 rounds, an evaluation each 50; and
# ten clients in two groups, see below, 200 rounds.
#
#   scripts/fedhb_mnist.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# It leaves four CSVs in results/, or in $SWEEP_DIR, of which scripts/table.sh makes tables:
#
#   fedhb_mnist.csv       fedhb-niw and FedAvg
#   fedhb_finetuned.csv   fedhb-niw without masks and prior, which is FedAvg to the bit, and its personal models what clients
#                         make of the global model in one more round: FedAvg with fine-tuning
#   fedhb_prototypes.csv  fedhb-mix with 1, 2 and 5 prototypes
#   fedhb_groups.csv      the same on clients with 25 images of all labels, half of which permute them; as nobody can tell from
#                         an image who labels it, the global model goes by the client's responsibilities
#
# Flags after -- go before these. It wants the data (see "fedbayes datasets mnist"), and can be stopped and started again, see
# sweep.sh.
set -eu
if [ $# -eq 0 ]; then set -- 1 2 3; fi
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac
scripts=$(cd "$(dirname "$0")" && pwd)
results=${SWEEP_DIR:-$scripts/../results}

# runs CSV FLAG "VALUE..." [SEED...] -- [FLAGS OF THE USER...] -- SETTINGS...
runs() {
	export SWEEP_CSV="$results/$1.csv"
	shift
	sh "$scripts/sweep.sh" "$@" 'dataset = "mnist"' 'eval-every = 50'
}
runs fedhb_mnist algo "fedhb-niw fedavg" "$@" -- 'regime = "small"' 'rounds = 800'
runs fedhb_finetuned keep-prob 1 "$@" -- 'algo = "fedhb-niw"' 'regime = "small"' 'rounds = 800' \
	'prior-weight = 0' 'prior-count = 0'
runs fedhb_prototypes prototypes "1 2 5" "$@" -- 'algo = "fedhb-mix"' 'regime = "small"' 'rounds = 800' \
	'lr = 0.5' 'prototype-spread = 0.01'
runs fedhb_groups prototypes "1 2 5" "$@" -- 'algo = "fedhb-mix"' 'rounds = 200' 'lr = 0.5' 'prototype-spread = 0.01' \
	'permute-labels = 2' 'gate = "client"' 'labels-per-client = 10' 'train-per-class = 25' 'test-per-class = 300'
