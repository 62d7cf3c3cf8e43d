#!/bin/sh
# Runs FedHB on MNIST: ten clients of 5 labels, small regime, the network 784-100-10, 800 rounds, an evaluation each 50.
#
#   scripts/fedhb_mnist.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# It leaves four CSVs in results/, or in $SWEEP_DIR, of which scripts/table.sh makes tables:
#
#   fedhb_mnist.csv       fedhb-niw and FedAvg
#   fedhb_finetuned.csv   fedhb-niw without masks and prior, which is FedAvg to the bit, and its personal models what clients
#                         make of the global model in one more round: FedAvg with fine-tuning
#   fedhb_prototypes.csv  fedhb-mix with 1, 2 and 5 prototypes
#   fedhb_groups.csv      the same where half of the clients permute the labels, and predictions go by the client's prototype
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
	sh "$scripts/sweep.sh" "$@" 'dataset = "mnist"' 'regime = "small"' 'rounds = 800' 'eval-every = 50'
}
runs fedhb_mnist algo "fedhb-niw fedavg" "$@" --
runs fedhb_finetuned keep-prob 1 "$@" -- 'algo = "fedhb-niw"' 'prior-weight = 0' 'prior-count = 0'
runs fedhb_prototypes prototypes "1 2 5" "$@" -- 'algo = "fedhb-mix"'
runs fedhb_groups prototypes "1 2 5" "$@" -- 'algo = "fedhb-mix"' 'gate = "client"' 'permute-labels = 2'
