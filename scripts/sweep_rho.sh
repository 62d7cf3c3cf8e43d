#!/bin/sh
# Sweeps ρ at the start, σ = log(1+e^ρ), over the values of Zhang et al. (ICML 2022):
#
#   scripts/sweep_rho.sh [SEED...] [-- FLAGS OF TRAIN...]
#   scripts/sweep_rho.sh 1 2 3 -- --dataset mnist --rounds 800
#
# See sweep.sh.
exec sh "$(dirname "$0")/sweep.sh" rho "-1 -1.5 -2 -2.5 -3" "$@"
