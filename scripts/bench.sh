#!/usr/bin/env bash
# Prints the benchmarks: kernels, a client's step on the perceptron and on the VGG and where its time goes, a step of the LSTM,
# and a round with one worker and two.
#
#   scripts/bench.sh [PATTERN]     only the sections whose name matches, as "step" or "gemm"
#
# Sections with "-avx2" and "-go" are the same tables without AVX-512 and in plain Go. GEMM is compared with OpenBLAS where
# a C compiler can link it. Times are of the machine as it is: close other programs, and compare within one run.
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=${1:-.}

# section NAME COMMAND...: run a benchmark and print its results alone.
section() {
	local name=$1
	shift
	[[ $name =~ $pattern ]] || return 0
	printf '\n%s: %s\n' "$name" "$*"
	"$@" | grep -E '^Benchmark|OpenBLAS [0-9]' | sort -u || true
}

bench() { # NAME PACKAGE BENCHMARK [GO TEST FLAG...]
	local name=$1 package=$2 benchmark=$3
	shift 3
	section "$name" go test "$package" -run '^$' -bench "$benchmark" -cpu 1 "$@"
}

tables() { # SUFFIX [GO TEST FLAG...]
	local suffix=$1
	shift
	bench "gemm$suffix" ./internal/kernels '^BenchmarkGemm$' "$@"
	bench "normals$suffix" ./internal/kernels '^BenchmarkNormals$' "$@"
	bench "kl$suffix" ./internal/kernels '^BenchmarkKL$/softplus' "$@"
	bench "adam$suffix" ./internal/kernels '^BenchmarkAdam$' "$@"
	bench "conv$suffix" ./internal/kernels '^Benchmark(Conv|Pool)$' "$@"
	bench "step$suffix" ./algorithms '^BenchmarkStep$' -benchmem "$@"
	bench "lstm$suffix" ./graph '^BenchmarkLSTM$' "$@"
	bench "where$suffix" ./graph '^BenchmarkWhere$' "$@"
}

tables ""
section round go test ./internal/federation -run '^$' -bench '^BenchmarkRound$'
GODEBUG=cpu.avx512f=off tables -avx2
tables -go -tags purego
if echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -lopenblas -o /dev/null 2>/dev/null; then
	compare() { # NAME ISA [VARIABLE=VALUE...]
		local name=$1 isa=$2
		shift 2
		section "$name" env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 "$@" \
			go test -tags openblas ./internal/kernels -run '^$' -bench "^BenchmarkGemmOpenBLAS$/$isa"
	}
	compare openblas avx512
	compare openblas-avx2 avx2 OPENBLAS_CORETYPE=Haswell
else
	printf '\nopenblas: left out, no C compiler can link it\n'
fi
