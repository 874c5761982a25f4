package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Sizes of a picture in pixels. A picture has three panels side by side.
const (
	panelWidth, panelHeight = 300, 220
	plotLeft, plotTop       = 20, 46
	plotWidth, plotHeight   = 250, 120
)

// drawCurve returns an SVG picture with a panel for calls per second, p99 and memory. The
// horizontal axis is logarithmic, the vertical ones begin at 0.
func drawCurve(what string, points []point) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="calls per second, p99 and memory by the number of %s">`+"\n", 3*panelWidth, panelHeight, what)
	b.WriteString("<style>text{fill:#444}.l{stroke:#3b6fd4;fill:none;stroke-width:2}.d{fill:#3b6fd4}.a{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ccc}.l{stroke:#7aa5ff}.d{fill:#7aa5ff}}</style>\n")
	for i, panel := range []struct {
		title string
		value func(point) float64
		label func(float64) string
	}{
		{"calls/s", func(p point) float64 { return p.rate }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		{"p99 of a call", func(p point) float64 { return float64(p.p99) }, micro},
		{"memory (RSS)", func(p point) float64 { return mega(p.rss) }, func(v float64) string { return fmt.Sprintf("%.0f MB", v) }},
	} {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)"><text x="%d" y="16" font-weight="600">%s</text>`+"\n", i*panelWidth, plotLeft, panel.title)
		drawPanel(&b, points, panel.value, panel.label)
		b.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">%s (logarithmic)</text></svg>`+"\n", plotLeft, panelHeight-8, what)
	return b.Bytes()
}

func drawPanel(b *bytes.Buffer, points []point, value func(point) float64, label func(float64) string) {
	most := 0.0
	for _, p := range points {
		most = max(most, value(p))
	}
	first, last := math.Log(float64(points[0].x)), math.Log(float64(points[len(points)-1].x))
	place := func(p point) (x, y float64) {
		return plotLeft + plotWidth*(math.Log(float64(p.x))-first)/(last-first), plotTop + plotHeight*(1-value(p)/most)
	}
	fmt.Fprintf(b, `<path class="a" d="M%d %dh%d"/><path class="l" d="`, plotLeft, plotTop+plotHeight, plotWidth)
	for i, p := range points {
		x, y := place(p)
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(b, "%s%.1f %.1f", command, x, y)
	}
	b.WriteString("\"/>\n")
	for i, p := range points {
		x, y := place(p)
		fmt.Fprintf(b, `<circle class="d" cx="%.1f" cy="%.1f" r="3"/><text x="%.1f" y="%d" text-anchor="middle" font-size="10">%s</text>`, x, y, x, plotTop+plotHeight+16, formatTick(p.x))
		if i == 0 || i == len(points)-1 || value(p) == most {
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="10">%s</text>`, x, y-8, label(value(p)))
		}
		b.WriteString("\n")
	}
}

// formatTick formats a count for a tick: 64, 1k, 10M.
func formatTick(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.Itoa(n/1_000_000) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
