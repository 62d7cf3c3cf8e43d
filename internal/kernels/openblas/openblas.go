//go:build openblas

// Package openblas calls OpenBLAS, for tests that compare the kernels with it. It is built with the tag openblas only,
// and stands apart from package kernels because cgo and Go assembly cannot share a package.
//
// It wants libopenblas (on Debian: apt-get install libopenblas-dev) and a C compiler. The library inside the Python
// package scipy-openblas32 has a prefix to its names; take it with
//
//	CGO_CFLAGS=-DPREFIX=scipy_ CGO_LDFLAGS="-L<its lib> -lscipy_openblas" go test -tags openblas,scipy
package openblas

/*
#cgo !scipy LDFLAGS: -lopenblas

#ifdef PREFIX
#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define cblas_sgemm NAME(PREFIX, cblas_sgemm)
#define openblas_get_config NAME(PREFIX, openblas_get_config)
#define openblas_set_num_threads NAME(PREFIX, openblas_set_num_threads)
#endif

void cblas_sgemm(int order, int transA, int transB, int m, int n, int k, float alpha, const float *a, int lda,
	const float *b, int ldb, float beta, float *c, int ldc);
char *openblas_get_config(void);
void openblas_set_num_threads(int n);

// A loop here rather than in Go, so that the price of a call out of Go is paid once.
static void sgemm(int reps, int transA, int transB, int m, int n, int k, const float *a, int lda,
	const float *b, int ldb, float beta, float *c, int ldc) {
	for (int i = 0; i < reps; i++)
		cblas_sgemm(101, transA ? 112 : 111, transB ? 112 : 111, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
*/
import "C"

// Config returns the version, options and kernel of the library. The environment variable OPENBLAS_CORETYPE, read
// when the program starts, chooses the kernel; without it the library takes what it holds for the machine's best.
func Config() string { return C.GoString(C.openblas_get_config()) }

// Gemm computes dst = op(a)·op(b), reps times over on one thread. Arguments are as in package kernels; it does
// not check them, and none may be empty.
func Gemm(reps int, transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, dst []float32, ldd int) {
	C.openblas_set_num_threads(1)
	C.sgemm(C.int(reps), flag(transA), flag(transB), C.int(m), C.int(n), C.int(k), (*C.float)(&a[0]), C.int(lda),
		(*C.float)(&b[0]), C.int(ldb), 0, (*C.float)(&dst[0]), C.int(ldd))
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
