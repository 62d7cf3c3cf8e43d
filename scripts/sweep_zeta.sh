#!/bin/sh
# Sweeps ζ, the weight of the divergence, over the values of Zhang et al. (ICML 2022):
#
#   scripts/sweep_zeta.sh [SEED...] [-- FLAGS OF TRAIN...]
#   scripts/sweep_zeta.sh 1 2 3 -- --dataset mnist --rounds 800
#
# See sweep.sh.
exec sh "$(dirname "$0")/sweep.sh" zeta "0.5 1 5 10 20" "$@"
