#!/bin/sh
# Runs VIRTUAL, FedProx and FedAvg as VIRTUAL's paper compares them: ten clients a round, 20 passes over a client's data in
# mini-batches of 20, but for shakespeare one in mini-batches of ten. DATA names a file of settings in scripts/virtual: hapt, vsn,
# mnist-writers, mnist-iid, pmnist, shakespeare.
#
#   scripts/virtual.sh DATA [SEED...] [-- FLAGS OF TRAIN...]
#   scripts/virtual.sh sparsity [SEED...] [-- FLAGS OF TRAIN...]
#
# It leaves results/virtual_DATA.csv with all evaluations, its first column the method: fedavg, fedprox, virtual, and of the
# first two virtual-lateral, where clients have private networks. GM is the paper's S, and PM its MT; MT of FedAvg and
# FedProx is their GM, as their clients have no other model. "sparsity" is VIRTUAL on mnist-writers with 0, 50, 75 and 90 per
# cent of a change not sent, in results/virtual_sparsity.csv, whose columns bytes_up and bytes_down count what is sent since
# the first round.
#
# Seeds are 1 2 3 if none is given. Settings are the best points of scripts/search.sh METHOD DATA. It can be stopped and started
# again, see sweep.sh, where $SWEEP_DIR and $SWEEP_PROGRAM are explained too. scripts/table.sh makes a table of each CSV.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
data=${1:-}
of=$data
if [ "$data" = sparsity ]; then of=mnist-writers; fi
if [ ! -f "$scripts/virtual/$of.toml" ] || [ ! "$data" ]; then
	echo "usage: virtual.sh DATA [SEED...] [-- FLAGS OF TRAIN...]     DATA is sparsity or a file of $scripts/virtual" >&2
	exit 2
fi
shift
case ${1:-} in [0-9]*) ;; *) set -- 1 2 3 "$@" ;; esac
case " $* " in
*" -- "*) ;;
*) set -- "$@" -- ;;
esac

# The best points of the search, of VIRTUAL by the sum of PM and GM: FedAvg's rate, FedProx's rate and μ, VIRTUAL's rate and β.
case $of in
hapt) fedavg=0.03 fedprox="0.1 0.001" virtual="0.03 1e-6" ;;
vsn) fedavg=0.03 fedprox="0.1 0.0001" virtual="0.1 1e-5" ;;
mnist-writers) fedavg=0.1 fedprox="0.3 0.01" virtual="0.1 1e-6" ;;
mnist-iid) fedavg=0.3 fedprox="0.3 0.001" virtual="0.3 1e-6" ;;
pmnist) fedavg=0.1 fedprox="0.1 0.1" virtual="0.1 1e-6" ;;
shakespeare) fedavg=4 fedprox="4 0.001" virtual="2 1e-6" ;;
esac

results=${SWEEP_DIR:-$scripts/../results}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! "${SWEEP_PROGRAM:-}" ]; then # built once, so that all runs are of one program
	(cd "$scripts/.." && go build -o "$tmp/fedbayes" .)
	export SWEEP_PROGRAM="$tmp/fedbayes"
fi

# sweep FLAG "VALUE..." [SEED...] -- [FLAGS OF THE USER...] -- SETTINGS...
sweep() {
	# Each line of the file of settings is an argument.
	while read -r line; do
		case $line in '#'*) ;; *) set -- "$@" "$line" ;; esac
	done <"$scripts/virtual/$of.toml"
	SWEEP_CSV=$tmp/sweep.csv sh "$scripts/sweep.sh" "$@"
}

# runs NAME ALGO ... adds the rows of a method under a name.
runs() {
	name=$1
	shift
	sweep algo "$@"
	awk -F, -v OFS=, -v name="$name" -v header="$header" '
		NR == 1 { if (header) { $1 = "method"; print }; next }
		{ $1 = name; print }' "$tmp/sweep.csv" >>"$tmp/all.csv"
	header=0
	cp "$tmp/all.csv" "$results/virtual_$data.csv"
}

lr="lr = ${virtual% *}" beta="kl-weight = ${virtual#* }" retain='retain = "fitted"'
draws="final-mc = 10"
case $data in
mnist-iid) retain='retain = "sent"' ;; # of like data a model as it was fitted forgets the others
shakespeare) retain='retain = "sent"' draws="final-mc = 0" ;; # and so it does here; draws would take longer than the run
esac
if [ "$data" = sparsity ]; then
	sweep sparsity "0 50 75 90" "$@" -- 'algo = "virtual"' 'lateral = false' "$lr" "$beta" "$retain" "$draws"
	cp "$tmp/sweep.csv" "$results/virtual_sparsity.csv"
	exit
fi
header=1
runs fedavg fedavg "$@" -- "lr = $fedavg"
runs fedprox fedprox "$@" -- "lr = ${fedprox% *}" "mu = ${fedprox#* }"
runs virtual virtual "$@" -- 'lateral = false' "$lr" "$beta" "$retain" "$draws"
case $data in
hapt | vsn) runs virtual-lateral virtual "$@" -- "$lr" "$beta" "$retain" "$draws" ;; # the others, of 100 clients, take long as it is
esac
