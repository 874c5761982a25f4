package supervisor

// reportStartProgress publishes the status when the progress of a start has changed.
func (r *runner) reportStartProgress() {
	if r.state.phase != phaseStarting {
		r.progressTicker.Stop()
		return
	}
	if now := r.startProgress(); now != r.detail {
		r.detail = now
		r.publish()
	}
	r.endWhenNpmFailed()
}

// startProgress describes what a start is doing, as far as that is visible: "downloading (npx): "
// and the last line of stderr.
func (r *runner) startProgress() string {
	text := ""
	if by := r.s.o.DownloadingLauncher(r.id); by != "" {
		text = "downloading (" + by + ")"
	}
	lines := r.s.o.LastLines(r.id, 1, r.startedAt)
	if len(lines) == 0 {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + lines[0]
}
