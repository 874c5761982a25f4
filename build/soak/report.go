//go:build linux

package soak

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"
)

// chart is one plot over the duration of the run.
type chart struct {
	Title  string
	Line   template.HTMLAttr // points of the polyline
	Top    string            // labels of its upper and lower edges
	Bottom string
	Note   string
}

const width, height = 900.0, 140.0

func plot(title, unit string, list []Sample, value func(Sample) float64) chart {
	low, high := 0.0, 0.0
	for _, s := range list {
		high = max(high, value(s))
	}
	if high <= low {
		high = low + 1
	}
	span := 1.0
	if len(list) > 0 {
		span = max(1, list[len(list)-1].At.Seconds())
	}
	var b strings.Builder
	b.WriteString(`points="`)
	for _, s := range list {
		fmt.Fprintf(&b, "%.1f,%.1f ", width*s.At.Seconds()/span, height-height*(value(s)-low)/(high-low))
	}
	b.WriteByte('"')
	return chart{title, template.HTMLAttr(b.String()), figure(high) + " " + unit, figure(low), ""}
}

func figure(v float64) string {
	if v >= 100 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// HTML writes the report as one self-contained page.
func (r *Report) HTML(w io.Writer, about string) error {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	total := r.Total()
	return page.Execute(w, map[string]any{
		"Report": r, "Total": total, "About": about, "Width": width, "Height": height,
		"PerSecond": int(float64(total.Calls) / max(r.Took.Seconds(), 1)),
		"Took":      r.Took.Round(time.Second), "Began": r.Began.Format(time.DateTime + " UTC"),
		"Early": fmt.Sprintf("%.1f MB", float64(r.Memory(0.2, 0.4))/(1<<20)), "Late": fmt.Sprintf("%.1f MB", float64(r.Memory(0.8, 1))/(1<<20)),
		"Charts": []chart{
			plot("Calls a second", "", r.Samples, func(s Sample) float64 { return s.PerSecond }),
			plot("Half of the calls took at most", "ms", r.Samples, func(s Sample) float64 { return ms(s.P50) }),
			plot("99 % of the calls took at most", "ms", r.Samples, func(s Sample) float64 { return ms(s.P99) }),
			plot("Memory (RSS)", "MB", r.Samples, func(s Sample) float64 { return float64(s.RSS) / (1 << 20) }),
			plot("Goroutines", "", r.Samples, func(s Sample) float64 { return float64(s.Goroutines) }),
			plot("Descriptors", "", r.Samples, func(s Sample) float64 { return float64(s.Descriptors) }),
			plot("Child processes", "", r.Samples, func(s Sample) float64 { return float64(s.Children) }),
			plot("Crashes so far", "", r.Samples, func(s Sample) float64 { return float64(s.Crashes) }),
		},
	})
}

var page = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Drawbridge under load</title>
<style>
:root{color-scheme:light dark;--line:#2563eb;--edge:#8884}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
svg{width:100%;height:9rem;border:1px solid var(--edge);background:#8881}
polyline{fill:none;stroke:var(--line);stroke-width:1.5;vector-effect:non-scaling-stroke}
figure{margin:1.2rem 0}figcaption{display:flex;justify-content:space-between}
table{border-collapse:collapse}td,th{border:1px solid var(--edge);padding:.2rem .6rem;text-align:left}
.bad{color:#c00}
</style>
<h1>Drawbridge under load</h1>
<p>{{.Began}}, {{.Took}}. {{.About}}</p>
{{if .Report.Wrong}}<h2 class="bad">Broken promises</h2><ul>{{range .Report.Wrong}}<li class="bad">{{.}}</li>{{end}}</ul>{{if .Report.WrongMore}}<p class="bad">and {{.Report.WrongMore}} more</p>{{end}}
{{else}}<p>Every call was answered exactly once, and nothing more is held than before.</p>{{end}}
<table>
<tr><th>calls answered</th><td>{{.Total.Calls}}, {{.PerSecond}} a second</td></tr>
<tr><th>by their server</th><td>{{.Total.OK}}</td></tr>
{{range $code, $n := .Total.Codes}}<tr><th>{{$code}}</th><td>{{$n}}</td></tr>{{end}}
<tr><th>servers crashed</th><td>{{.Report.Crashes}}</td></tr>
<tr><th>servers stood still</th><td>{{.Report.Stops}}</td></tr>
<tr><th>changes of the configuration</th><td>{{.Report.Reloads}}</td></tr>
<tr><th>clients connected again</th><td>{{.Report.Connects}}</td></tr>
<tr><th>clients vanished in a call</th><td>{{.Report.Ghosts}}</td></tr>
<tr><th>jumps of the clock</th><td>{{.Report.Jumps}}; {{.Report.Expired}} sessions had expired then</td></tr>
<tr><th>at rest before</th><td>{{.Report.Before}}</td></tr>
<tr><th>at rest after</th><td>{{.Report.After}}</td></tr>
<tr><th>memory under load, second and last fifth</th><td>{{.Early}}, {{.Late}}</td></tr>
</table>
{{range .Charts}}<figure><figcaption><b>{{.Title}}</b><span>0 to {{.Top}}</span></figcaption>
<svg viewBox="0 0 {{$.Width}} {{$.Height}}" preserveAspectRatio="none" role="img" aria-label="{{.Title}}"><polyline {{.Line}}/></svg></figure>{{end}}
</html>
`))
