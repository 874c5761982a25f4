package config

// text is one file as it was read.
type text struct {
	Path string `json:"path"`
	Text string `json:"text"`
}
