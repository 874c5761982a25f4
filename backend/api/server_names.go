package api

import (
	"context"
	"reflect"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

var errNoSuchServer = core.Errorf(core.CodeNotFound, "there is no such server")

// acceptServerNames accepts the name of a server wherever an operation takes its id: the fields of In that
// are tagged server:"name" contain the id when handler runs. An unknown name is unchanged, because
// the history contains removed servers.
func acceptServerNames[In, Out any](a *API, handler func(context.Context, *In) (*Out, error)) func(context.Context, *In) (*Out, error) {
	fields := serverFields(reflect.TypeFor[In](), nil)
	if len(fields) == 0 {
		return handler
	}
	return func(ctx context.Context, in *In) (*Out, error) {
		for _, path := range fields {
			field := reflect.ValueOf(in).Elem().FieldByIndex(path)
			id, err := a.serverID(field.String())
			if err != nil {
				return nil, err
			}
			field.SetString(id)
		}
		return handler(ctx, in)
	}
}

// serverFields are the paths of the tagged fields of a struct and of the structs in it.
func serverFields(t reflect.Type, above []int) (paths [][]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(slices.Clone(above), i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			paths = append(paths, serverFields(f.Type, path)...)
		case f.Tag.Get("server") == "name":
			paths = append(paths, path)
		}
	}
	return paths
}

// serverID returns the id of the server with the name or id text; text itself if there is none.
func (a *API) serverID(text string) (string, error) {
	if text == "" {
		return text, nil
	}
	if _, ok := a.Servers.Status(text); ok {
		return text, nil
	}
	statuses := a.Servers.Statuses()
	names := make([]core.ServerIdentity, len(statuses))
	for i := range statuses {
		names[i] = core.ServerIdentity{ID: statuses[i].ID, Label: statuses[i].Label}
	}
	id, err := core.FindServer(names, text)
	if id == "" {
		id = text
	}
	return id, err
}
