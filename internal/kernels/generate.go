package kernels

//go:generate go -C _gen run . -what gemm -pkg kernels -out ../gemm_tiles_amd64.s -stubs ../gemm_tiles_amd64.go
//go:generate go -C _gen run . -what pool -pkg kernels -out ../pool_avx_amd64.s -stubs ../pool_avx_amd64.go
//go:generate go -C _gen run . -what elem -pkg kernels -out ../elem_avx_amd64.s -stubs ../elem_avx_amd64.go
//go:generate go -C _gen run . -what gauss -pkg kernels -out ../gauss_avx_amd64.s -stubs ../gauss_avx_amd64.go
//go:generate go -C _gen run . -what normals -pkg kernels -out ../normals_avx_amd64.s -stubs ../normals_avx_amd64.go
