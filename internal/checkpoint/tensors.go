package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/nlpodyssey/safetensors"

	"fedbayes/internal/state"
)

// maxHeader is what readers of the format take (huggingface.co/docs/safetensors); a tensor takes headerOf and its name.
const (
	maxHeader = 100_000_000
	headerOf  = 100
)

// encode writes tensors in the format.
func encode(w io.Writer, tensors []state.Tensor) error {
	views := map[string]view{}
	header := 0
	for _, t := range tensors {
		if _, twice := views[t.Name]; twice {
			panic("checkpoint: two tensors are called " + t.Name)
		}
		views[t.Name] = view{t}
		header += headerOf + len(t.Name)
	}
	if header > maxHeader {
		return fmt.Errorf("checkpoint: %d tensors are more than one file can name", len(tensors))
	}
	return safetensors.SerializeToWriter(views, nil, w)
}

// A view is a tensor as the format has it. Its bytes are made when they are asked for, one tensor at a time.
type view struct{ t state.Tensor }

var _ safetensors.View = view{}

func (v view) DType() safetensors.DType {
	switch v.t.Data.(type) {
	case []float32:
		return safetensors.F32
	case []float64:
		return safetensors.F64
	case []int64:
		return safetensors.I64
	case []uint64:
		return safetensors.U64
	case []bool:
		return safetensors.BOOL
	case []byte:
		return safetensors.U8
	}
	panic(fmt.Sprintf("checkpoint: %s is a %T", v.t.Name, v.t.Data))
}

func (v view) Shape() []uint64 {
	shape := make([]uint64, len(v.t.Shape))
	for i, d := range v.t.Shape {
		shape[i] = uint64(d)
	}
	return shape
}

func (v view) DataLen() uint64 { return uint64(binary.Size(v.t.Data)) }

func (v view) Data() []byte {
	data, err := binary.Append(make([]byte, 0, v.DataLen()), binary.LittleEndian, v.t.Data)
	if err != nil {
		panic(err) // slices of numbers have a size
	}
	return data
}

// raw is a tensor as the file has it.
type raw struct {
	dtype safetensors.DType
	shape []int
	data  []byte
}

// decode reads the names, types and shapes of a file, whose bytes it keeps.
func decode(file []byte) (map[string]raw, error) {
	n, meta, err := safetensors.ReadMetadata(file)
	if err != nil {
		return nil, err
	}
	values := file[8+n:]
	tensors := map[string]raw{}
	for name, info := range meta.Tensors() {
		from, to := info.DataOffsets[0], info.DataOffsets[1]
		if from > to || to > uint64(len(values)) { // sums in the library can overflow
			return nil, fmt.Errorf("%s lies at %d to %d of %d bytes", name, from, to, len(values))
		}
		t := raw{dtype: info.DType, data: values[from:to], shape: []int{}}
		for _, d := range info.Shape {
			if d > uint64(len(values)) && to > from {
				return nil, errors.New(name + " has more values than the file")
			}
			t.shape = append(t.shape, int(d))
		}
		if room(info.DType, 0) == nil {
			return nil, fmt.Errorf("%s has values of type %s, which no state has", name, info.DType)
		}
		tensors[name] = t
	}
	return tensors, nil
}

// room returns a slice for n values, nil if the type is none of ours.
func room(t safetensors.DType, n int) any {
	switch t {
	case safetensors.F32:
		return make([]float32, n)
	case safetensors.F64:
		return make([]float64, n)
	case safetensors.I64:
		return make([]int64, n)
	case safetensors.U64:
		return make([]uint64, n)
	case safetensors.BOOL:
		return make([]bool, n)
	case safetensors.U8:
		return make([]byte, n)
	default:
		return nil
	}
}

// tensor decodes the values.
func (r raw) tensor(name string) state.Tensor {
	data := room(r.dtype, len(r.data)/int(r.dtype.Size()))
	if _, err := binary.Decode(r.data, binary.LittleEndian, data); err != nil {
		panic(err) // there are as many bytes as the values take
	}
	return state.Tensor{Name: name, Shape: r.shape, Data: data}
}
