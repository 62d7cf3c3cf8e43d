#!/bin/sh
# Makes a Markdown table of a CSV that sweep.sh left: the mean over seeds of PM and GM, ± the standard deviation, in
# percent, a row for each value of the sweep and two columns for each round that is named.
#
#   scripts/table.sh FILE ROUND...
#
# "seeds" counts those that reached one of the rounds; where another number of them stands behind a cell, it says so.
# A value whose cells stand beside FILE and have no row in it, as none is finished, has a row without numbers.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: table.sh FILE ROUND..." >&2
	exit 2
fi
file=$1
shift
for round in "$@"; do
	case $round in
	'' | 0* | *[!0-9]*)
		echo "table.sh: round \"$round\": want a whole number from 1" >&2
		exit 2
		;;
	esac
done
if [ ! -f "$file" ] || [ ! -r "$file" ]; then
	echo "table.sh: $file: no such file" >&2
	exit 2
fi

# The values that the sweep has begun, from the names of its cells: zeta-0.5-seed-1 and the like.
swept=$(awk -F, 'NR == 1 { print $1; exit }' "$file")
begun=
for cell in "$(dirname "$file")/$swept"-*-seed-*/; do
	if [ -d "$cell" ]; then
		value=$(basename "$cell")
		value=${value#"$swept"-}
		begun="$begun ${value%-seed-*}"
	fi
done

awk -F, -v rounds="$*" -v begun="$begun" -v file="$file" '
function fail(why) {
	printf "table.sh: %s: %s\n", file, why >"/dev/stderr"
	failed = 1
	exit 2
}
function cell(value, key,    n, mean, var, text) {
	n = count[key]
	if (n == 0) return "–"
	mean = sum[key] / n
	text = sprintf("%.2f", mean)
	if (n > 1) {
		var = (squares[key] - n * mean * mean) / (n - 1)
		text = text sprintf(" ± %.2f", sqrt(var > 0 ? var : 0))
	}
	return n == seeds[value] ? text : text " (n = " n ")"
}
function add(key, v) {
	if (v == "") return
	count[key]++
	sum[key] += 100 * v
	squares[key] += 10000 * v * v
}
function row(value) {
	if (!(value in place)) { place[value] = 1; order[++values] = value }
}
BEGIN {
	n = split(rounds, round, " ")
	for (j = 1; j <= n; j++) wanted[round[j]] = 1
}
{ sub(/\r$/, "") }
/"/ { fail("line " NR " has a quote: cells with commas cannot be read here (runs of an older version? run them again)") }
NR == 1 {
	for (i = 1; i <= NF; i++) if (!($i in column)) column[$i] = i
	m = split("seed round pm_acc gm_acc", need, " ")
	for (i = 1; i <= m; i++) if (!(need[i] in column)) fail("no column " need[i] ": want a CSV that sweep.sh left")
	first = $1
	width = NF
	next
}
NF != width { fail("line " NR " has " NF " cells, want " width) }
{
	row($1)
	seed = $column["seed"]
	at = $column["round"]
	if (($1, seed, at) in there) fail("line " NR " is the second of " first " " $1 ", seed " seed ", round " at)
	there[$1, seed, at] = 1
	if (!(at in wanted)) next
	add($1 "/pm/" at, $column["pm_acc"])
	add($1 "/gm/" at, $column["gm_acc"])
	if (!(($1, seed) in reached)) { reached[$1, seed] = 1; seeds[$1]++ }
}
END {
	if (failed) exit 2
	if (NR == 0) fail("empty")
	m = split(begun, others, " ")
	for (i = 1; i <= m; i++) row(others[i])
	head = "| " first " | seeds |"
	rule = "|---|---|"
	for (j = 1; j <= n; j++) { head = head " PM, round " round[j] " | GM, round " round[j] " |"; rule = rule "---|---|" }
	print head
	print rule
	for (i = 1; i <= values; i++) {
		v = order[i]
		line = "| " v " | " seeds[v] + 0 " |"
		for (j = 1; j <= n; j++) line = line " " cell(v, v "/pm/" round[j]) " | " cell(v, v "/gm/" round[j]) " |"
		print line
	}
}' "$file"
