package api

type (
	none          struct{}
	answer[T any] struct{ Body T }
)

func reply[T any](body T) (*answer[T], error) { return &answer[T]{body}, nil }

// nonNil returns s, or an empty slice for nil, which JSON would encode as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
