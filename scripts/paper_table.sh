#!/bin/sh
# Makes Markdown tables of the CSV that paper_mnist.sh left, one for each data set: for each regime PM and GM at the last
# round of each method, mean ± standard deviation over seeds in percent, beside those of Zhang et al. (ICML 2022), which are
# of the best round.
#
#   scripts/paper_table.sh FILE
#
# A number of ours that is above pFedBayes's in its column is bold. Where a seed did not reach the last round, as it
# diverged, the cell says how many did. A sample of a data set has its own name, and no number of the paper beside.
set -eu
if [ $# -ne 1 ]; then
	echo "usage: paper_table.sh FILE" >&2
	exit 2
fi
if [ ! -f "$1" ]; then
	echo "paper_table.sh: $1: no such file" >&2
	exit 2
fi
awk -F, -v file="$1" '
function fail(why) {
	printf "paper_table.sh: %s: %s\n", file, why >"/dev/stderr"
	failed = 1
	exit 2
}
# paper notes a row of the table in print: PM and GM of the regimes small, medium and large.
function paper(data, method, small, medium, large) {
	printed[data, method, "small"] = small
	printed[data, method, "medium"] = medium
	printed[data, method, "large"] = large
}
BEGIN {
	paper("mnist", "pfedbayes", "94.13 ± 0.27 / 90.44 ± 0.45", "97.09 ± 0.13 / 92.33 ± 0.76", "98.79 ± 0.13 / 94.39 ± 0.32")
	paper("mnist", "fedavg", "– / 87.38 ± 0.27", "– / 90.60 ± 0.19", "– / 92.39 ± 0.24")
	paper("mnist", "fedprox", "– / 87.65 ± 0.30", "– / 90.66 ± 0.17", "– / 92.42 ± 0.23")
	paper("mnist", "bnfed", "– / 78.70 ± 0.69", "– / 80.02 ± 0.60", "– / 82.95 ± 0.22")
	paper("mnist", "perfedavg", "89.29 ± 0.59 / –", "95.19 ± 0.33 / –", "98.27 ± 0.08 / –")
	paper("mnist", "pfedme", "92.88 ± 0.04 / 87.35 ± 0.08", "95.31 ± 0.17 / 89.67 ± 0.34", "96.42 ± 0.08 / 91.25 ± 0.14")
	paper("mnist", "heurfedamp", "90.89 ± 0.17 / –", "94.74 ± 0.07 / –", "96.90 ± 0.12 / –")
	paper("mnist", "pfedgp", "85.96 ± 2.30 / –", "91.96 ± 0.97 / –", "95.66 ± 0.43 / –")
	paper("fashion-mnist", "pfedbayes", "89.05 ± 0.17 / 80.17 ± 0.19", "91.95 ± 0.02 / 82.33 ± 0.37", "93.01 ± 0.10 / 83.30 ± 0.28")
	paper("fashion-mnist", "fedavg", "– / 81.51 ± 0.19", "– / 83.90 ± 0.13", "– / 85.42 ± 0.14")
	paper("fashion-mnist", "fedprox", "– / 81.53 ± 0.08", "– / 83.92 ± 0.21", "– / 85.32 ± 0.14")
	paper("fashion-mnist", "bnfed", "– / 66.54 ± 0.64", "– / 69.68 ± 0.39", "– / 70.10 ± 0.24")
	paper("fashion-mnist", "perfedavg", "79.79 ± 0.83 / –", "84.90 ± 0.47 / –", "88.51 ± 0.28 / –")
	paper("fashion-mnist", "pfedme", "88.63 ± 0.07 / 81.06 ± 0.14", "91.32 ± 0.08 / 83.45 ± 0.21", "92.02 ± 0.07 / 84.41 ± 0.08")
	paper("fashion-mnist", "heurfedamp", "86.38 ± 0.24 / –", "89.82 ± 0.16 / –", "92.17 ± 0.12 / –")
	paper("fashion-mnist", "pfedgp", "86.99 ± 0.41 / –", "90.53 ± 0.35 / –", "92.22 ± 0.13 / –")
}
{ sub(/\r$/, "") }
NR == 1 {
	for (i = NF; i > 0; i--) column[$i] = i
	m = split("dataset regime algo seed round pm_acc gm_acc", need, " ")
	for (i = 1; i <= m; i++) if (!(need[i] in column)) fail("no column " need[i] ": want a CSV that paper_mnist.sh left")
	width = NF
	next
}
NF != width { fail("line " NR " has " NF " cells, want " width) }
{
	data = $column["dataset"]; size = $column["regime"]; method = $column["algo"]; seed = $column["seed"]; at = $column["round"] + 0
	if (!(data in sizes)) order[++datas] = data
	if (!((data, size) in begun)) { begun[data, size] = 1; sizes[data] = sizes[data] " " size }
	if (!(method in known)) { known[method] = 1; name[++methods] = method }
	ran[data, method] = 1
	key = data SUBSEP size SUBSEP method
	if (!((key, seed) in seen)) { seen[key, seed] = 1; seeds[key]++ }
	if (at < last[key]) next
	if (at > last[key]) { # what came before was not the last round
		last[key] = at
		sum[key, "pm"] = sum[key, "gm"] = squares[key, "pm"] = squares[key, "gm"] = n[key, "pm"] = n[key, "gm"] = reached[key] = 0
	}
	reached[key]++
	add(key SUBSEP "pm", $column["pm_acc"])
	add(key SUBSEP "gm", $column["gm_acc"])
	if (at > rounds[method]) rounds[method] = at
}
function add(key, v) {
	if (v == "") return
	n[key]++
	sum[key] += 100 * v
	squares[key] += 10000 * v * v
}
function number(data, size, method, model,    key, mean, var, text, rival) {
	key = data SUBSEP size SUBSEP method SUBSEP model
	if (!n[key]) return "–"
	mean = sum[key] / n[key]
	text = sprintf("%.2f", mean)
	if (n[key] > 1) {
		var = (squares[key] - n[key] * mean * mean) / (n[key] - 1)
		text = text sprintf(" ± %.2f", sqrt(var > 0 ? var : 0))
	}
	rival = data SUBSEP size SUBSEP "pfedbayes" SUBSEP model
	return n[rival] && mean > sum[rival] / n[rival] ? "**" text "**" : text
}
function cell(data, size, method,    key) {
	key = data SUBSEP size SUBSEP method
	if (!(key in seeds)) return "–"
	return number(data, size, method, "pm") " / " number(data, size, method, "gm") (reached[key] < seeds[key] ? " (n = " reached[key] ")" : "")
}
END {
	if (failed) exit 2
	if (!datas) fail("no row")
	for (d = 1; d <= datas; d++) {
		data = order[d]
		parts = split(sizes[data], part, " ")
		head = "| " data " |"
		rule = "|---|"
		for (j = 1; j <= parts; j++) { head = head " " part[j] ", PM / GM | paper |"; rule = rule "---|---|" }
		print head
		print rule
		for (i = 1; i <= methods; i++) {
			if (!((data, name[i]) in ran)) continue
			line = "| " name[i] " |"
			for (j = 1; j <= parts; j++) {
				theirs = printed[data, name[i], part[j]]
				line = line " " cell(data, part[j], name[i]) " | " (theirs ? theirs : "") " |"
			}
			print line
		}
		print ""
	}
	line = "Last round:"
	for (i = 1; i <= methods; i++) line = line (i > 1 ? ", " : " ") name[i] " " rounds[name[i]]
	print line ". Bold: above pfedbayes in the same column."
}' "$1"
