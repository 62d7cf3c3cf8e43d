package kernels

//go:generate go -C _gen run . -what gemm -pkg kernels -out ../gemm_tiles_amd64.s -stubs ../gemm_tiles_amd64.go
