#!/bin/sh
# Trains once for each value of one flag, which may be --algo, and each seed, and joins the runs' rounds.csv into one file.
#
#   sweep.sh FLAG "VALUE..." [SEED...] [-- FLAGS OF TRAIN... [-- DEFAULTS...]]
#
# Behind the second -- stand flags that a script gives; those of its user, before it, override them.
# sweep_zeta.sh and sweep_rho.sh call it with the paper's values. A sweep can be stopped and started again: cells that
# are finished are kept, the others are run anew. Other flags of train make another sweep, in another folder. Folders
# stand below $SWEEP_DIR, which is results/ of the checkout if it is not set. A copy of the joined file goes to $SWEEP_CSV, if
# that is set; $SWEEP_PROGRAM, if it is, runs in place of what the checkout builds now.
set -eu

if [ $# -lt 2 ]; then
	echo 'usage: sweep.sh FLAG "VALUE..." [SEED...] [-- FLAGS OF TRAIN...]' >&2
	exit 2
fi
flag=$1
values=$2
shift 2
seeds=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	case $1 in
	-h | --help)
		echo "usage: sweep_$flag.sh [SEED...] [-- FLAGS OF TRAIN...]     $flag in $values; seed 1 if none is given"
		exit 0
		;;
	'' | *[!0-9]* | 0?*) # 01 would be a second cell of seed 1
		echo "sweep_$flag.sh: seed \"$1\": want a whole number without zeros in front (flags of train follow after --)" >&2
		exit 2
		;;
	esac
	seeds="$seeds $1"
	shift
done
if [ $# -gt 0 ]; then shift; fi # the --
: "${seeds:=1}"

# Put what stands behind the second -- to the other flags, unless it is a flag that they have. An argument that begins
# with -- is a flag, what follows is its value.
given=" "
default=
keep=1
for argument; do
	shift
	case $argument in
	--)
		default=1
		continue
		;;
	--?*)
		keep=1
		case $default$given in
		1*" ${argument%%=*} "*) keep= ;;
		[!1]*) given="$given${argument%%=*} " ;;
		esac
		;;
	esac
	if [ "$keep" ]; then set -- "$@" "$argument"; fi
done

root=$(cd "$(dirname "$0")/.." && pwd)
name=sweep_$flag
if [ $# -gt 0 ]; then
	name=$name-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1)
fi
dir=${SWEEP_DIR:-$root/results}/$name

# Built once, and run from where the user is: paths among the flags are the user's.
bin=$(mktemp -d)
# clean removes the program, and the folder if no cell has begun, as with a flag that is none.
clean() {
	rm -rf "$bin"
	for cell in "$dir/$flag-"*-seed-*; do
		if [ -e "$cell" ]; then return; fi
	done
	rm -f "$dir/flags.txt" "$dir/$name.csv.tmp"
	rmdir "$dir" 2>/dev/null || true
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
program=${SWEEP_PROGRAM:-$bin/fedbayes}
if [ ! "${SWEEP_PROGRAM:-}" ]; then (cd "$root" && go build -o "$program" .); fi
mkdir -p "$dir"
printf '%s\n' "$@" >"$dir/flags.txt"

# The checkpoint of a cell's end would be larger than all else of a sweep, and nobody goes on from there.
case " $* " in
*" --checkpoint-every"*) ;;
*) set -- "$@" --checkpoint-every 0 ;;
esac

# A diverged cell diverges again, so it counts as done.
finished() { grep -Eq '"status": "(finished|diverged)"' "$1/summary.json" 2>/dev/null; }

for seed in $seeds; do
	for value in $values; do
		cell=$dir/$flag-$value-seed-$seed
		if finished "$cell"; then
			echo "$flag $value, seed $seed: done before, in $cell"
			continue
		fi
		echo "$flag $value, seed $seed:"
		status=0
		"$program" train "--$flag=$value" --seed "$seed" --out "$cell" --force "$@" || status=$?
		case $status in
		0 | 4) ;;
		*) exit "$status" ;;
		esac
	done
done

# All seeds that the folder has, those of earlier calls too.
all=$dir/$name.csv
for value in $values; do
	for cell in "$dir/$flag-$value-seed-"*; do
		if finished "$cell"; then
			# A cell of a CSV has no comma here: --model takes mlp:200-100 for mlp:200,100.
			awk -v flag="$flag" -v value="$value" 'BEGIN { gsub(/,/, "-", value) } FNR == 1 { print flag "," $0; next } { print value "," $0 }' "$cell/rounds.csv"
		fi
	done
done | awk 'NR == 1 { header = $0; print; next } $0 != header' >"$all.tmp"
mv "$all.tmp" "$all"
if [ "${SWEEP_CSV:-}" ]; then cp "$all" "$SWEEP_CSV"; fi
echo "all rounds: $all"
