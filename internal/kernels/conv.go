package kernels

import "fmt"

// Convolutions are sums of matrix products, taken where the data lie: nothing like the matrix of all windows, which is
// KH·KW times as large as the images, is ever made.
//
// What a window sees of an image in one of its rows is contiguous (positions, then channels), and so are the weights that
// belong to it. For one place of the window and a block of images, the output is therefore one product
//
//	y[images, out] = Σ over rows of the window  x[images, columns·in] · w[columns·in, out]
//
// whose sums run over two nested loops. Padding is left out of the sums instead of being filled with zeros: at 2 × 2
// positions and a kernel of 3 × 3 it is more than half of them.

// A Conv is a convolution of images [H, W, In] to images [OH, OW, Out].
type Conv struct {
	Window
	In, Out int
}

// check panics unless rows images, the weights and rows results have the sizes of g.
func (g Conv) check(name string, rows, x, w, y int) {
	g.Window.check(name)
	if rows < 0 || min(g.In, g.Out) < 1 {
		panic(fmt.Sprintf("kernels: %s: %d images of %d channels to %d, want none negative and channels ≥ 1", name, rows, g.In, g.Out))
	}
	same(name, rows*g.H*g.W*g.In, x)
	same(name, g.KH*g.KW*g.In*g.Out, w)
	same(name, rows*g.OH*g.OW*g.Out, y)
}

// Conv2D sets y [rows, OH, OW, Out] to the convolution of x [rows, H, W, In] with w [KH, KW, In, Out], plus bias [Out],
// and then, if relu is set, raises what is negative to 0. NaN stays NaN.
//
//	y[i, p, q, o] = bias[o] + Σ x[i, p·Stride−Top+ky, q·Stride−Left+kx, c] · w[ky, kx, c, o]
//
// The sum is over the ky, kx and c that lie in the image, in this order. AVX2 and AVX512 give the same bits.
func (c *CPU) Conv2D(y, x, w, bias []float32, rows int, g Conv, relu bool) {
	g.check("Conv2D", rows, len(x), len(w), len(y))
	same("Conv2D", g.Out, len(bias))
	s := sweep{
		h: g.H, w: g.W, depth: g.In,
		kh: g.KH, kw: g.KW, weights: w, n: g.Out,
		rows: g.OH, cols: g.OW, top: -g.Top, left: -g.Left, step: g.Stride,
		rowStride: g.OW * g.Out, colStride: g.Out,
		bias: bias, relu: relu,
	}
	size := g.OH * g.OW * g.Out
	stride := apart(g.H * g.W * g.In)
	most := blockOf(rows, stride)
	block := c.scratch(most * stride)
	for i := 0; i < rows; i += most {
		m := min(most, rows-i)
		layApart(block, stride, x[i*g.H*g.W*g.In:], g.H*g.W*g.In, m)
		s.run(c, y[i*size:], size, block, stride, m)
	}
}

// ConvGradX sets dx [rows, H, W, In] to the gradient of a loss with respect to the x of Conv2D without ReLU, given the
// gradient dy [rows, OH, OW, Out] with respect to its y.
//
//	dx[i, p·Stride−Top+ky, q·Stride−Left+kx, c] = Σ dy[i, p, q, o] · w[ky, kx, c, o]
//
// It is a convolution of dy with the kernel turned round and its channels exchanged. With a stride, the positions of dx
// fall into Stride² classes that meet different weights, and there is one such convolution for each.
func (c *CPU) ConvGradX(dx, dy, w []float32, rows int, g Conv) {
	g.check("ConvGradX", rows, len(dx), len(w), len(dy))
	s := sweep{
		h: g.OH, w: g.OW, depth: g.Out, n: g.In, step: 1,
		rowStride: g.Stride * g.W * g.In, colStride: g.Stride * g.In,
	}
	size, dySize := g.H*g.W*g.In, g.OH*g.OW*g.Out
	stride := apart(dySize)
	most := blockOf(rows, stride)
	buf := c.scratch(len(w) + most*stride)
	turned, block := buf[:len(w)], buf[len(w):]
	g.turn(c, turned, w)
	for i := 0; i < rows; i += most {
		m := min(most, rows-i)
		layApart(block, stride, dy[i*dySize:], dySize, m)
		s.weights = turned
		for ry := range g.Stride {
			p := (ry + g.Stride*g.KH - g.Top) % g.Stride // the first row of the class
			s.kh = classSize(ry, g.KH, g.Stride)
			s.rows, s.top = classSize(p, g.H, g.Stride), (p+g.Top-ry)/g.Stride-s.kh+1
			for rx := range g.Stride {
				q := (rx + g.Stride*g.KW - g.Left) % g.Stride
				s.kw = classSize(rx, g.KW, g.Stride)
				s.cols, s.left = classSize(q, g.W, g.Stride), (q+g.Left-rx)/g.Stride-s.kw+1
				if p < g.H && q < g.W {
					s.run(c, dx[i*size+(p*g.W+q)*g.In:], size, block, stride, m)
				}
				s.weights = s.weights[s.kh*s.kw*g.Out*g.In:]
			}
		}
	}
}

// classSize returns how many of the numbers below n are first, first+step, first+2·step …
func classSize(first, n, step int) int { return max(0, (n-first+step-1)/step) }

// turn writes, for each class of positions that ConvGradX tells apart, the weights [kh, kw, Out, In] that it meets, in
// reverse order of kernel rows and columns.
func (g Conv) turn(c *CPU, dst, w []float32) {
	for ry := range g.Stride {
		for rx := range g.Stride {
			for j := classSize(ry, g.KH, g.Stride) - 1; j >= 0; j-- {
				for i := classSize(rx, g.KW, g.Stride) - 1; i >= 0; i-- {
					at := (ry+j*g.Stride)*g.KW + rx + i*g.Stride
					c.flip(dst[:g.In*g.Out], w[at*g.In*g.Out:][:g.In*g.Out], g.In, g.Out)
					dst = dst[g.In*g.Out:]
				}
			}
		}
	}
}

// ConvGradW sets dw [KH, KW, In, Out] and dbias [Out] to the gradients with respect to w and bias of Conv2D without ReLU,
// given the gradient dy with respect to its y.
//
//	dw[ky, kx, c, o] = Σ x[i, p·Stride−Top+ky, q·Stride−Left+kx, c] · dy[i, p, q, o]    dbias[o] = Σ dy[i, p, q, o]
func (c *CPU) ConvGradW(dw, dbias, x, dy []float32, rows int, g Conv) {
	g.check("ConvGradW", rows, len(x), len(dw), len(dy))
	same("ConvGradW", g.Out, len(dbias))
	clear(dw)
	clear(dbias)
	sum := c.scratch(g.Out)
	xSize, size := g.H*g.W*g.In, g.OH*g.OW*g.Out
	most := balanced(max(rows, 1), max(1, convPlaces/(g.OH*g.OW)))
	for i := 0; i < rows; i += most {
		m := min(most, rows-i)
		g.gradW(c, dw, x[i*xSize:], dy[i*size:], m)
		c.ColSum(sum, dy[i*size:][:m*size], m*g.OH*g.OW, g.Out)
		c.Add(dbias, dbias, sum)
	}
}

// gradW adds what m images contribute to dw. Places of the window that see the same of its columns go into one product
//
//	dw[ky, columns·in, out] += Σ over places  x[place, columns·in]ᵀ · dy[place, out]
//
// whose sums run over columns, rows and images.
func (g Conv) gradW(c *CPU, dw, x, dy []float32, m int) {
	for q := 0; q < g.OW; {
		at := q*g.Stride - g.Left
		lo, hi := covered(at, g.KW, g.W)
		end := q + alike(at, g.Stride, g.KW, g.W, g.OW-q)
		for ky := range g.KH {
			p, last := g.seeing(ky)
			if p >= last {
				continue
			}
			t := product{
				m: (hi - lo) * g.In, n: g.Out,
				a: x[((p*g.Stride-g.Top+ky)*g.W+at+lo)*g.In:], aRow: 1,
				b:   dy[(p*g.OW+q)*g.Out:],
				dst: dw[(ky*g.KW+lo)*g.In*g.Out:], dstRow: g.Out,
				sum: nest{
					{end - q, g.Stride * g.In, g.Out},
					{last - p, g.Stride * g.W * g.In, g.OW * g.Out},
					{m, g.H * g.W * g.In, g.OH * g.OW * g.Out},
				},
				places: 1,
				acc:    true,
			}
			t.compute(c)
		}
		q = end
	}
}

// seeing returns the rows [first, last) of places at which row ky of the window lies in the image.
func (g Conv) seeing(ky int) (first, last int) {
	return classSize(0, g.Top-ky, g.Stride), min(g.OH, classSize(0, g.H+g.Top-ky, g.Stride))
}

const (
	convImages  = 28      // images in a block of Conv2D and ConvGradX: two tiles of the largest height
	fewImages   = 3       // at most so many images are computed one by one; for four that is slower in every layer of a VGG
	convScratch = 1 << 20 // elements that such a block holds at most, unless one image has more
	convPlaces  = 1024    // places of the window in a block of ConvGradW, unless one image has more: how long its sums grow
)

// A sweep moves a kernel of kh × kw over a block of images [h, w, depth], and computes one product at each place: of the
// row of each image that the kernel sees there with weights [kh, kw, depth, n].
type sweep struct {
	h, w, depth int
	kh, kw      int
	weights     []float32
	n           int

	rows, cols           int // of places
	top, left, step      int // place (p, q) begins at position (top+p·step, left+q·step) of the image
	rowStride, colStride int // of places, in the result

	bias []float32 // nil for none
	relu bool
}

// run sweeps over m images that begin stride apart, to results that begin size apart. A product has one row for each
// image, or, where images are few, for each place of a run of places that see the same columns of the kernel.
func (s *sweep) run(c *CPU, dst []float32, size int, images []float32, stride, m int) {
	for p := range s.rows {
		y := s.top + p*s.step
		y0, y1 := covered(y, s.kh, s.h)
		for q, run := 0, 0; q < s.cols; q += run {
			x := s.left + q*s.step
			x0, x1 := covered(x, s.kw, s.w)
			run = alike(x, s.step, s.kw, s.w, s.cols-q)
			out := dst[p*s.rowStride+q*s.colStride:]
			if y0 >= y1 || x0 >= x1 {
				for i := range m * run {
					clear(out[i/run*size+i%run*s.colStride:][:s.n])
				}
				continue
			}
			t := product{
				m: m, n: s.n,
				a: images[((y+y0)*s.w+x+x0)*s.depth:], aRow: stride,
				b:   s.weights[(y0*s.kw+x0)*s.depth*s.n:],
				dst: out, dstRow: size,
				sum: nest{
					{(x1 - x0) * s.depth, 1, s.n},
					{y1 - y0, s.w * s.depth, s.kw * s.depth * s.n},
					{1, 0, 0},
				},
				places: run, aPlace: s.step * s.depth, dstPlace: s.colStride,
				bias: s.bias, relu: s.relu,
			}
			if m <= fewImages {
				t.m, t.aRow, t.dstRow, t.places, t.aPlace, t.dstPlace = t.places, t.aPlace, t.dstPlace, t.m, t.aRow, t.dstRow
			}
			t.compute(c)
		}
	}
}

// blockOf returns how many of rows images are taken at a time, when each takes size elements.
func blockOf(rows, size int) int {
	return balanced(max(rows, 1), max(1, min(convImages, convScratch/size)))
}

// apart returns a distance of at least n elements at which images are laid out for a product that reads one element of
// each in turn. An odd number of cache lines puts them into different sets of the caches, where a power of two, as their
// own size tends to be, would let them push one another out.
func apart(n int) int { return ((n+15)/16 | 1) * 16 }

// layApart copies m images of n elements so that they begin stride apart.
func layApart(dst []float32, stride int, src []float32, n, m int) {
	for i := range m {
		copy(dst[i*stride:][:n], src[i*n:])
	}
}
