#!/bin/sh
# Runs FedHB on CIFAR-10: VGG, 20 clients of 5 labels, 10 a round, small regime, batches of 50, 200 rounds, an evaluation each 20.
#
#   scripts/fedhb_cifar10.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# It leaves two CSVs in results/, or in $SWEEP_DIR, of which scripts/table.sh makes tables:
#
#   fedhb_cifar10.csv             fedhb-niw, without masks; its server infers from the last networks of all clients
#   fedhb_cifar10_finetuned.csv   FedAvg with fine-tuning, see fedhb_mnist.sh
#
# Flags after -- go before these. It wants the data (see "fedbayes datasets cifar10"), and can be stopped and started again, see
# sweep.sh.
set -eu
if [ $# -eq 0 ]; then set -- 1 2 3; fi
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac
scripts=$(cd "$(dirname "$0")" && pwd)
results=${SWEEP_DIR:-$scripts/../results}

# runs CSV PRIOR-WEIGHT [SEED...] -- [FLAGS OF THE USER...] -- SETTINGS...
runs() {
	csv=$1
	shift
	SWEEP_CSV="$results/$csv.csv" sh "$scripts/sweep.sh" prior-weight "$@" 'algo = "fedhb-niw"' 'dataset = "cifar10"' \
		'regime = "small"' 'model = "vgg"' 'batch = 50' 'rounds = 200' 'eval-every = 20' 'keep-prob = 1' 'prior-count = 0'
}
runs fedhb_cifar10 1 "$@" -- 'cache-all = true'
runs fedhb_cifar10_finetuned 0 "$@" -- 'cache-all = false'
