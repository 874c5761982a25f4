// Package histogram counts durations in bins of logarithmic width.
package histogram

import (
	"encoding/binary"
	"math"
	"time"
)

// binsPerOctave is the resolution: each bin is 9 % wider than the previous one, so a
// duration that is read from a bin is off by at most 4.5 %.
const binsPerOctave = 8

// Histogram counts durations in bins of logarithmic width. Its zero value is empty.
type Histogram struct {
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

// Add adds n calls of duration d; n may be negative. A count never becomes negative.
func (h *Histogram) Add(d time.Duration, n int64) {
	bin := durationBin(d)
	for len(h.counts) <= bin {
		h.counts = append(h.counts, 0)
	}
	if n < 0 {
		n = -min(-n, int64(h.counts[bin]))
	}
	h.counts[bin] += uint32(n)
	h.n += uint64(n)
}

// BinCount is one bin of an encoded histogram.
type BinCount struct {
	bin   int
	count uint32
}

// Decode decodes an encoded histogram up to its end or its first error, and appends its bins
// to list.
func Decode(list []BinCount, blob []byte) []BinCount {
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
		list = append(list, BinCount{bin, uint32(min(count, math.MaxUint32))})
		blob = blob[n+m:]
	}
	return list
}

// AddBins adds the bins of a decoded histogram.
func (h *Histogram) AddBins(list []BinCount) {
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

// Encode returns the encoded histogram: for each bin that is not empty, the distance from the
// previous one and the count, both as unsigned varints.
func (h *Histogram) Encode() []byte {
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

// Percentile returns the duration that the fraction p of all calls, from 0 to 1, did not exceed. It
// returns 0 for an empty histogram.
func (h *Histogram) Percentile(p float64) time.Duration {
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
