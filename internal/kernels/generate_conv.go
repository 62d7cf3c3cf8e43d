package kernels

//go:generate go -C _gen run . -what pool -pkg kernels -out ../pool_avx_amd64.s -stubs ../pool_avx_amd64.go
