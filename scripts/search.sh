#!/bin/sh
# Searches a method's defaults: runs a grid of its parameters, which stands below, on MNIST in the medium regime, 200 rounds
# (bnfed: 5 rounds of 10 epochs), with one evaluation, at the end.
#
#   scripts/search.sh METHOD [SEED...] [-- FLAGS OF TRAIN...]
#
# Flags after -- override these. It leaves results/search_METHOD.csv, a row for each point and seed, and prints the points
# that are best in the mean over seeds. A point that diverged has empty cells and is out. It can be stopped and started
# again, see sweep.sh; $SWEEP_DIR is as there.
set -eu

method=${1:-}
# A line is a flag and its values. Rates of SGD go by factors of 2 to 3; the others are the values of the papers and of
# public code, and some beyond.
length="--rounds 200"
case $method in
pfedbayes) grid="
	rho -1 -1.5 -2 -2.5 -3
	zeta 0.5 1 5 10 20" ;;
fedavg | local) grid="
	lr 0.05 0.1 0.2 0.5 1" ;;
fedprox) grid="
	mu 0.001 0.01 0.1
	lr 0.2 0.5 1" ;;
bnfed)
	length="--rounds 5 --local-epochs 10"
	grid="
	prior-var 0.1 1 10
	noise-var 0.1 0.5 1"
	;;
perfedavg) grid="
	inner-lr 0.03 0.1 0.3
	lr 0.1 0.2 0.5" ;;
pfedme) grid="
	lr-global 0.05 0.1
	lr 0.01 0.03
	lambda 5 15
	beta 1 2" ;;
ditto) grid="
	lr-global 0.05 0.5
	lambda 0.03 0.1 0.3
	lr 0.05 0.2 0.5" ;;
fedamp) grid="
	sigma 3 10 30
	lr 0.2 0.5 1" ;;
heurfedamp) grid="
	sigma 10 25 50
	lr 0.2 0.5 1" ;;
pfedgp) grid="
	context 25 50 100
	lr 0.0003 0.001 0.003 0.01 0.05" ;;
*)
	echo "usage: search.sh METHOD [SEED...] [-- FLAGS OF TRAIN...]     a METHOD that has a grid in $0" >&2
	exit 2
	;;
esac
shift

seeds=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	seeds="$seeds $1"
	shift
done
: "${seeds:=1}"
if [ $# -eq 0 ]; then set -- --; fi
regime="--regime medium"
for argument; do
	case $argument in # what excludes a default
	--local-*) length=${length% --local-*} ;;
	--train-per-class* | --test-per-class* | --partition*) regime= ;;
	esac
done

# The points of all flags but the last, as /--mu=1/--beta=2; sweep.sh goes through the last one's values.
flags=
points=/
while read -r flag values; do
	if [ ! "$flag" ]; then continue; fi
	for argument; do
		case $argument in
		--"$flag" | --"$flag"=*)
			echo "search.sh: --$flag: it is searched over" >&2
			exit 2
			;;
		esac
	done
	if [ "$flags" ]; then
		longer=
		for point in $points; do
			for value in $last; do longer="$longer ${point%/}/--${flags##*,}=$value"; done
		done
		points=$longer
	fi
	flags=${flags:+$flags,}$flag
	last=$values
done <<END
$grid
END

scripts=$(cd "$(dirname "$0")" && pwd)
results=${SWEEP_DIR:-$scripts/../results}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
(cd "$scripts/.." && go build -o "$tmp/fedbayes" .) # once, so that all runs are of one program
export SWEEP_PROGRAM="$tmp/fedbayes"

all=$tmp/search.csv
echo "$flags,seed,round,pm_acc,gm_acc" >"$all"
for point in $points; do
	outer=$(echo "$point" | tr / ' ')
	# shellcheck disable=SC2086 # lists of words
	SWEEP_CSV=$tmp/sweep.csv sh "$scripts/sweep.sh" "${flags##*,}" "$last" $seeds "$@" -- \
		--algo "$method" --dataset mnist $regime $length --eval-every 200 $outer
	# The last row of each run, and one without numbers for a run that has none.
	awk -F, -v outer="$outer" -v values="$last" -v seeds="$seeds" '
	function known(seed) { if (!(seed in there)) { there[seed] = 1; order[++m] = seed } }
	BEGIN {
		n = split(seeds, s, " ")
		for (i = 1; i <= n; i++) known(s[i])
		n = split(outer, o, " ")
		for (i = 1; i <= n; i++) { sub(/.*=/, "", o[i]); head = head o[i] "," }
	}
	NR == 1 { for (i = NF; i > 0; i--) column[$i] = i; next }
	{ known($column["seed"]); row[$1, $column["seed"]] = $column["round"] "," $column["pm_acc"] "," $column["gm_acc"] }
	END {
		n = split(values, v, " ")
		for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print head v[i] "," order[j] "," ((v[i], order[j]) in row ? row[v[i], order[j]] : ",,")
	}' "$tmp/sweep.csv" >>"$all"
done
mv "$all" "$results/search_$method.csv"
echo "all points: $results/search_$method.csv"

awk -F, '
NR == 1 { for (i = 1; i < NF - 3; i++) flag[i] = $i; flags = NF - 4; next }
{
	point = ""
	for (i = 1; i <= flags; i++) point = point " --" flag[i] " " $i
	if (!(point in n)) order[++points] = point
	n[point]++
	if ($(flags + 2) == "") out[point] = 1
	if ($(NF - 1) != "") has["PM"] = 1
	if ($NF != "") has["GM"] = 1
	sum["PM", point] += 100 * $(NF - 1)
	sum["GM", point] += 100 * $NF
}
function best(model,    i, p, top, mean) {
	if (!(model in has)) return
	for (i = 1; i <= points; i++) {
		p = order[i]
		mean = sum[model, p] / n[p]
		if (!(p in out) && (top == "" || mean > sum[model, top] / n[top])) top = p
	}
	if (top == "") return
	line = "best " model ":" top ":"
	if ("PM" in has) line = line sprintf(" PM %.2f %%", sum["PM", top] / n[top])
	if ("GM" in has) line = line sprintf(" GM %.2f %%", sum["GM", top] / n[top])
	print line
}
END {
	best("PM")
	best("GM")
	if (line == "") print "every point diverged"
}' "$results/search_$method.csv"
