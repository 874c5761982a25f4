package store

import (
	"encoding/binary"
	"math"
	"time"
)

// binsPerOctave is the resolution of histograms: each bin is 9 % wider than the previous one, so a
// duration that is read from a bin is off by at most 4.5 %.
const binsPerOctave = 8

// histogram counts durations in bins of logarithmic width. Its zero value is empty.
type histogram struct {
	counts []uint32 // indexed by bin; grows on demand
	n      uint64
}

// durationBin returns the bin of a duration. Bin 0 contains all durations up to one microsecond.
func durationBin(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	return 1 + int(math.Log2(float64(d)/float64(time.Microsecond))*binsPerOctave)
}

// binMiddle returns the geometric middle of a bin, the duration that represents it.
func binMiddle(bin int) time.Duration {
	if bin == 0 {
		return time.Microsecond
	}
	return time.Duration(float64(time.Microsecond) * math.Exp2((float64(bin)-0.5)/binsPerOctave))
}

// add adds n calls to a bin; n may be negative. A count never becomes negative.
func (h *histogram) add(bin int, n int64) {
	for len(h.counts) <= bin {
		h.counts = append(h.counts, 0)
	}
	if n < 0 {
		n = -min(-n, int64(h.counts[bin]))
	}
	h.counts[bin] += uint32(n)
	h.n += uint64(n)
}

// binCount is one bin of an encoded histogram.
type binCount struct {
	bin   int
	count uint32
}

// decodeBins decodes an encoded histogram up to its end or its first error, and appends its bins
// to list.
func decodeBins(list []binCount, blob []byte) []binCount {
	bin := -1
	for len(blob) > 0 {
		step, n := binary.Uvarint(blob)
		if n <= 0 || step == 0 || step > 1000 {
			break
		}
		count, m := binary.Uvarint(blob[n:])
		if m <= 0 || bin+int(step) > 1000 {
			break
		}
		bin += int(step)
		list = append(list, binCount{bin, uint32(min(count, math.MaxUint32))})
		blob = blob[n+m:]
	}
	return list
}

// addBins adds the bins of a decoded histogram.
func (h *histogram) addBins(list []binCount) {
	if len(list) == 0 {
		return
	}
	if most := list[len(list)-1].bin + 1; len(h.counts) < most {
		h.counts = append(h.counts, make([]uint32, most-len(h.counts))...)
	}
	for _, one := range list {
		h.counts[one.bin] += one.count
		h.n += uint64(one.count)
	}
}

// encode returns the encoded histogram: for each bin that is not empty, the distance from the
// previous one and the count, both as unsigned varints.
func (h *histogram) encode() []byte {
	out := []byte{}
	last := -1
	for bin, count := range h.counts {
		if count == 0 {
			continue
		}
		out = binary.AppendUvarint(out, uint64(bin-last))
		out = binary.AppendUvarint(out, uint64(count))
		last = bin
	}
	return out
}

// percentile returns the duration that the fraction p of all calls, from 0 to 1, did not exceed. It
// returns 0 for an empty histogram.
func (h *histogram) percentile(p float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	want := max(uint64(math.Ceil(p*float64(h.n))), 1)
	for bin, count := range h.counts {
		if want <= uint64(count) {
			return binMiddle(bin)
		}
		want -= uint64(count)
	}
	return 0
}
