#!/bin/sh
# Runs the README's comparison on all of MNIST, small regime: four methods, 800 rounds, an evaluation each 50 rounds.
#
#   scripts/mnist_small.sh [SEED...] [-- FLAGS OF TRAIN...]
#
# Flags after -- go before these. It can be stopped and started again, see sweep.sh; scripts/table.sh makes a table of the
# CSV that it leaves.
if [ $# -eq 0 ]; then set -- 1 2 3; fi
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac
exec sh "$(dirname "$0")/sweep.sh" algo "pfedbayes fedavg fedprox local" "$@" -- \
	'dataset = "mnist"' 'rounds = 800' 'eval-every = 50'
