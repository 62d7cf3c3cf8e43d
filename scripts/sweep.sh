#!/bin/sh
# Trains once for each value of one flag, which may be algo, and each seed: "fedbayes sweep" of the program that the checkout
# builds now, with results in the checkout.
#
#   sweep.sh FLAG "VALUE..." [SEED...] [-- FLAGS OF TRAIN... [-- SETTINGS...]]
#
# Behind the second -- stand settings that a script gives, as lines of a file for --config; the flags before it go before them.
# sweep_zeta.sh and sweep_rho.sh call it with the paper's values. It can be stopped and started again. Other flags make another
# sweep, in another folder. Folders stand below $SWEEP_DIR, which is results/ of the checkout if it is not set. A copy of the
# joined CSV goes to $SWEEP_CSV, if that is set; $SWEEP_PROGRAM, if it is, runs in place of what the checkout builds.
set -eu

if [ $# -lt 2 ]; then
	echo 'usage: sweep.sh FLAG "VALUE..." [SEED...] [-- FLAGS OF TRAIN...]' >&2
	exit 2
fi
flag=$1
values=
for value in $2; do values=$values,$(echo "$value" | tr , -); done # --model takes mlp:200-100 for mlp:200,100
shift 2
seeds=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	case $1 in
	-h | --help)
		echo "usage: sweep_$flag.sh [SEED...] [-- FLAGS OF TRAIN...]     $flag in ${values#,}; seed 1 if none is given"
		exit 0
		;;
	esac
	seeds=$seeds,$1
	shift
done
: "${seeds:=,1}"
if [ $# -gt 0 ]; then shift; fi # the --

root=$(cd "$(dirname "$0")/.." && pwd)
name=sweep_$flag
if [ $# -gt 0 ]; then name=$name-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1); fi
dir=${SWEEP_DIR:-$root/results}/$name

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
settings=
for argument; do
	shift
	if [ "$settings" ]; then
		echo "$argument" >>"$settings"
	elif [ "$argument" = -- ]; then
		settings=$tmp/settings.toml
	else
		set -- "$@" "$argument"
	fi
done
if [ "$settings" ]; then set -- "$@" --config "$settings"; fi

# Run from where the user is: paths among the flags are the user's.
program=${SWEEP_PROGRAM:-$tmp/fedbayes}
if [ ! "${SWEEP_PROGRAM:-}" ]; then (cd "$root" && go build -o "$program" .); fi
"$program" sweep --grid "$flag=${values#,}" --seeds "${seeds#,}" --out "$dir" "$@"
if [ "${SWEEP_CSV:-}" ]; then cp "$dir/$name.csv" "$SWEEP_CSV"; fi
