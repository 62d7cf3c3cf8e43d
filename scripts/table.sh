#!/bin/sh
# Makes a Markdown table of a CSV that sweep.sh left: the mean over seeds of PM and GM, ± the standard deviation, in
# percent, a row for each value of the sweep and two columns for each round that is named.
#
#   scripts/table.sh FILE ROUND...
set -eu
if [ $# -lt 2 ]; then
	echo "usage: table.sh FILE ROUND..." >&2
	exit 2
fi
file=$1
shift
awk -F, -v rounds="$*" '
function cell(key,    n, mean, var) {
	n = count[key]
	if (n == 0) return "–"
	mean = sum[key] / n
	if (n == 1) return sprintf("%.2f", mean)
	var = (squares[key] - n * mean * mean) / (n - 1)
	return sprintf("%.2f ± %.2f", mean, sqrt(var > 0 ? var : 0))
}
function add(key, v) {
	if (v == "") return
	count[key]++
	sum[key] += 100 * v
	squares[key] += 10000 * v * v
}
NR == 1 {
	for (i = 1; i <= NF; i++) if (!($i in column)) column[$i] = i
	first = $1
	next
}
{
	if (!($1 in seen)) { seen[$1] = 1; order[++values] = $1 }
	add($1 "/pm/" $column["round"], $column["pm_acc"])
	add($1 "/gm/" $column["round"], $column["gm_acc"])
	if (!(($1, $column["seed"]) in seeds)) { seeds[$1, $column["seed"]] = 1; runs[$1]++ }
}
END {
	n = split(rounds, round, " ")
	head = "| " first " | seeds |"
	rule = "|---|---|"
	for (j = 1; j <= n; j++) { head = head " PM, round " round[j] " | GM, round " round[j] " |"; rule = rule "---|---|" }
	print head
	print rule
	for (i = 1; i <= values; i++) {
		row = "| " order[i] " | " runs[order[i]] " |"
		for (j = 1; j <= n; j++) row = row " " cell(order[i] "/pm/" round[j]) " | " cell(order[i] "/gm/" round[j]) " |"
		print row
	}
}' "$file"
