package core

// DiffLine is one line of a comparison.
type DiffLine struct {
	Op   string `json:"op" enum:"same,old,new,gap"`
	Text string `json:"text"`
}

// Values of DiffLine.Op.
const (
	LineSame = "same"
	LineOld  = "old" // removed line
	LineNew  = "new" // added line
	LineGap  = "gap" // omitted equal lines
)

// maxCompared limits the lines of each text that Diff compares, because the table of the comparison
// grows with their product. Longer texts are shown as all old lines followed by all new lines.
const maxCompared = 2000

// contextLines is the number of context lines around a difference.
const contextLines = 3

// Diff compares two texts line by line. Equal lines outside the context of a difference are
// omitted.
func Diff(before, after []string) []DiffLine {
	lo := 0
	for lo < len(before) && lo < len(after) && before[lo] == after[lo] {
		lo++
	}
	hi := 0
	for hi < len(before)-lo && hi < len(after)-lo && before[len(before)-1-hi] == after[len(after)-1-hi] {
		hi++
	}
	var all []DiffLine
	for _, line := range before[:lo] {
		all = append(all, DiffLine{LineSame, line})
	}
	all = append(all, diffLines(before[lo:len(before)-hi], after[lo:len(after)-hi])...)
	for _, line := range before[len(before)-hi:] {
		all = append(all, DiffLine{LineSame, line})
	}
	return collapseEqual(all)
}

func diffLines(a, b []string) []DiffLine {
	var out []DiffLine
	if len(a) > maxCompared || len(b) > maxCompared {
		for _, line := range a {
			out = append(out, DiffLine{LineOld, line})
		}
		for _, line := range b {
			out = append(out, DiffLine{LineNew, line})
		}
		return out
	}
	// longest[i][j] is the longest common subsequence of a[i:] and b[j:].
	longest := make([][]uint16, len(a)+1)
	for i := range longest {
		longest[i] = make([]uint16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, DiffLine{LineSame, a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || longest[i+1][j] >= longest[i][j+1]):
			out = append(out, DiffLine{LineOld, a[i]})
			i++
		default:
			out = append(out, DiffLine{LineNew, b[j]})
			j++
		}
	}
	return out
}

func collapseEqual(all []DiffLine) []DiffLine {
	keep := make([]bool, len(all))
	for i, line := range all {
		if line.Op == LineSame {
			continue
		}
		for k := max(0, i-contextLines); k <= min(len(all)-1, i+contextLines); k++ {
			keep[k] = true
		}
	}
	out := []DiffLine{}
	for i := 0; i < len(all); {
		if keep[i] {
			out = append(out, all[i])
			i++
			continue
		}
		n := i
		for n < len(all) && !keep[n] {
			n++
		}
		out = append(out, DiffLine{LineGap, Plural(n-i, "unchanged line")})
		i = n
	}
	return out
}
