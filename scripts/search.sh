#!/bin/sh
# Searches a method's defaults: runs a grid of its parameters, which stands below, with one evaluation, at the end.
#
#   scripts/search.sh METHOD [DATA] [SEED...] [-- FLAGS OF TRAIN...]
#
# DATA is one of
#
#   mnist           the default: ten clients of 5 labels in the medium regime, 200 rounds (bnfed: 5 rounds of 10 epochs)
#   fashion-mnist   the same in the small regime
#   hapt, vsn, mnist-writers, mnist-iid, pmnist, shakespeare
#                   what scripts/virtual/DATA.toml says, cut short: 10 rounds, of mnist-writers with 20 clients, of mnist-iid 50, of
#                   pmnist 15, after which a fifth of the clients has not been sampled, of shakespeare 5, after which it is three
#                   fifths; fedavg, fedprox and virtual
#
# Flags after -- go before these. It leaves results/search_METHOD.csv, results/search_fashion_METHOD.csv or
# results/search_DATA_METHOD.csv, a row for each point and seed, and prints the points that are best in the mean over seeds. A
# point that diverged has empty cells and is out. It can be stopped and started again, as "fedbayes sweep" can; $SWEEP_DIR and
# $SWEEP_PROGRAM are as in sweep.sh.
set -eu

scripts=$(cd "$(dirname "$0")" && pwd)
method=${1:-}
data=mnist
name=search_$method
settings='dataset = "mnist"
regime = "medium"'
length='rounds = 200
eval-every = 200'
given=1
case ${2:-} in
mnist) ;;
fashion-mnist)
	data=$2 name=search_fashion_$method
	settings='dataset = "fashion-mnist"
regime = "small"'
	;;
hapt | vsn | mnist-writers | mnist-iid | pmnist | shakespeare)
	data=virtual name=search_$2_$method
	case $2 in mnist-iid | shakespeare) data=$2 ;; esac # runs of minutes; memory cells want higher rates
	settings=$(grep -v '^\(#\|rounds\|eval-every\)' "$scripts/virtual/$2.toml")
	length='rounds = 10
eval-every = 10'
	case $2 in
	mnist-writers) settings=$(echo "$settings" | sed 's/^clients = 100/clients = 20/') ;;
	mnist-iid) length='rounds = 50
eval-every = 50' ;;
	pmnist) length='rounds = 15
eval-every = 15' ;;
	shakespeare) length='rounds = 5
eval-every = 5' ;;
	esac
	;;
*) given= ;;
esac
# A line is a flag and its values. Rates of SGD go by factors of 2 to 3; the others are the values of the papers and of
# public code, and some beyond. Fashion-MNIST wants lower rates.
case $data/$method in
virtual/virtual) grid="
	kl-weight 1e-6 1e-5 1e-4 1e-3
	lr 0.003 0.01 0.03 0.1 0.3"
	if [ "$2" = pmnist ]; then grid=$(echo "$grid" | sed 's/1e-6.*/1e-6 1e-4/'); fi # a run takes minutes
	settings="$settings
lateral = false
retain = \"fitted\""
	;;
virtual/fedprox) grid="
	mu 0.0001 0.001 0.01 0.1
	lr 0.003 0.01 0.03 0.1 0.3" ;;
virtual/fedavg) grid="
	lr 0.003 0.01 0.03 0.1 0.3" ;;
mnist-iid/virtual) grid="
	kl-weight 1e-6 1e-4
	lr 0.03 0.1 0.3"
	settings="$settings
lateral = false"
	;;
mnist-iid/fedprox) grid="
	mu 0.001 0.01
	lr 0.03 0.1 0.3" ;;
mnist-iid/fedavg) grid="
	lr 0.03 0.1 0.3" ;;
shakespeare/virtual) grid="
	kl-weight 1e-6 1e-4
	lr 0.5 1 2 4 8"
	settings="$settings
lateral = false
retain = \"fitted\"
final-mc = 0" # which would take longer than the run
	;;
shakespeare/fedprox) grid="
	mu 0.001 0.01
	lr 0.5 1 2 4 8" ;;
shakespeare/fedavg) grid="
	lr 0.5 1 2 4 8" ;;
virtual/* | mnist-iid/* | shakespeare/*)
	echo "search.sh: $2: want fedavg, fedprox or virtual" >&2
	exit 2
	;;
fashion-mnist/fedavg | fashion-mnist/local) grid="
	lr 0.02 0.05 0.1 0.2 0.5" ;;
fashion-mnist/fedprox) grid="
	mu 0.001 0.01 0.1
	lr 0.05 0.1 0.2" ;;
fashion-mnist/perfedavg) grid="
	inner-lr 0.03 0.1 0.3
	lr 0.05 0.1 0.2" ;;
fashion-mnist/fedhb-mix) grid="
	prototypes 1 2 5
	prototype-var 0.01 0.1 1
	lr 0.05 0.1 0.2" ;;
fashion-mnist/pfedme) grid="
	lr-global 0.02 0.05
	lr 0.01 0.03
	beta 1 2" ;;
fashion-mnist/ditto) grid="
	lr-global 0.05 0.1
	lambda 0.03 0.1 0.3
	lr 0.02 0.05 0.1" ;;
fashion-mnist/fedamp) grid="
	sigma 3 10 30
	lr 0.05 0.1 0.2" ;;
fashion-mnist/heurfedamp) grid="
	sigma 10 25 50
	lr 0.05 0.1 0.2" ;;
*/pfedbayes) grid="
	rho -1 -1.5 -2 -2.5 -3
	zeta 0.5 1 5 10 20" ;;
*/fedavg | */local) grid="
	lr 0.05 0.1 0.2 0.5 1" ;;
*/fedprox) grid="
	mu 0.001 0.01 0.1
	lr 0.2 0.5 1" ;;
*/bnfed)
	length='rounds = 5
local-epochs = 10
eval-every = 5'
	grid="
	prior-var 0.1 1 10
	noise-var 0.1 0.5 1"
	;;
*/perfedavg) grid="
	inner-lr 0.03 0.1 0.3
	lr 0.1 0.2 0.5" ;;
*/pfedme) grid="
	lr-global 0.05 0.1
	lr 0.01 0.03
	lambda 5 15
	beta 1 2" ;;
*/ditto) grid="
	lr-global 0.05 0.5
	lambda 0.03 0.1 0.3
	lr 0.05 0.2 0.5" ;;
*/fedamp) grid="
	sigma 3 10 30
	lr 0.2 0.5 1" ;;
*/heurfedamp) grid="
	sigma 10 25 50
	lr 0.2 0.5 1" ;;
*/fedhb-niw)
	settings="$settings
inverted = true
prior-count = 0"
	grid="
	keep-prob 0.5 0.8 0.95 1
	prior-weight 0.01 0.1 1
	lr 0.2 0.5"
	;;
*/fedhb-mix)
	settings="$settings
prototype-spread = 0.01"
	grid="
	prototypes 1 2 5
	prototype-var 0.01 0.1 1
	lr 0.2 0.5 1"
	;;
*/virtual) grid="
	kl-weight 1e-6 1e-5 1e-4 1e-3
	damping 0.05 0.1 0.2
	lr 0.01 0.03 0.1 0.3 1" ;;
*/pfedgp) grid="
	context 25 50 100
	lr 0.0003 0.001 0.003 0.01 0.05" ;;
*)
	echo "usage: search.sh METHOD [DATA] [SEED...] [-- FLAGS OF TRAIN...]     a METHOD that has a grid in $0" >&2
	exit 2
	;;
esac
shift
if [ "$given" ]; then shift; fi

seeds=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	seeds=$seeds,$1
	shift
done
: "${seeds:=,1}"
if [ $# -gt 0 ]; then shift; fi # the --

results=${SWEEP_DIR:-$scripts/../results}
dir=$results/$name
if [ $# -gt 0 ]; then dir=$dir-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1); fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
cat >"$tmp/settings.toml" <<END
algo = "$method"
$settings
$length
END
flags=
while read -r flag values; do
	if [ ! "$flag" ]; then continue; fi
	flags=${flags:+$flags,}$flag
	set -- "$@" --grid "$flag=$(echo "$values" | tr ' ' ,)"
done <<END
$grid
END

program=${SWEEP_PROGRAM:-$tmp/fedbayes}
if [ ! "${SWEEP_PROGRAM:-}" ]; then (cd "$scripts/.." && go build -o "$program" .); fi
"$program" sweep --seeds "${seeds#,}" --config "$tmp/settings.toml" --out "$dir" "$@"

# The last row of each run, which has no numbers where the run has none.
awk -F, -v flags="$flags" '
NR == 1 { axes = split(flags, f, ","); for (i = NF; i > 0; i--) column[$i] = i; print flags ",seed,round,pm_acc,gm_acc"; next }
{
	run = ""
	for (i = 1; i <= axes; i++) run = run $i ","
	run = run $column["seed"]
	if (!(run in last)) order[++runs] = run
	last[run] = $column["round"] "," $column["pm_acc"] "," $column["gm_acc"]
}
END { for (i = 1; i <= runs; i++) print order[i] "," last[order[i]] }' "$dir/$(basename "$dir").csv" >"$tmp/search.csv"
mv "$tmp/search.csv" "$results/$name.csv"
echo "all points: $results/$name.csv"

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
}' "$results/$name.csv"
