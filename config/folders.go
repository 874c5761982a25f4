package config

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Folders says where everything of one Drawbridge lives. With a data folder of
// its own (--data, DRAWBRIDGE_DATA) everything is inside it; without, each part
// goes where the platform wants it. Daemon, command line and shim compute it
// alike. The folders need not exist.
type Folders struct {
	Config string // config.jsonc and conf.d
	Data   string // runtime.json, lock, tokens, database
	State  string // what can be made again: the last good configuration, ledger
	Logs   string
	// Own is set when the data folder was named: a shim's entry then has to name it too.
	Own bool
}

// FoldersFor computes the folders from the --data flag ("" when absent) and the environment.
func FoldersFor(dataFlag string, env func(string) string) (Folders, error) {
	return foldersFor(runtime.GOOS, dataFlag, env)
}

func foldersFor(goos, dataFlag string, env func(string) string) (Folders, error) {
	if data := cmp.Or(dataFlag, env("DRAWBRIDGE_DATA")); data != "" {
		abs, err := filepath.Abs(data)
		if err != nil {
			return Folders{}, err
		}
		return Folders{Config: abs, Data: abs, State: abs, Logs: filepath.Join(abs, "logs"), Own: true}, nil
	}
	home := cmp.Or(env("HOME"), env("USERPROFILE"))
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return Folders{}, err
		}
	}
	switch goos {
	case "darwin":
		support := filepath.Join(home, "Library", "Application Support", "Drawbridge")
		return Folders{Config: support, Data: support, State: support,
			Logs: filepath.Join(home, "Library", "Logs", "Drawbridge")}, nil
	case "windows":
		roaming := filepath.Join(cmp.Or(env("APPDATA"), filepath.Join(home, "AppData", "Roaming")), "Drawbridge")
		local := filepath.Join(cmp.Or(env("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local")), "Drawbridge")
		return Folders{Config: roaming, Data: local, State: local, Logs: filepath.Join(local, "logs")}, nil
	}
	xdg := func(name, fallback string) string {
		dir := env(name)
		if !filepath.IsAbs(dir) { // the specification: a relative path counts as unset
			dir = filepath.Join(home, fallback)
		}
		return filepath.Join(dir, "drawbridge")
	}
	state := xdg("XDG_STATE_HOME", ".local/state")
	return Folders{
		Config: xdg("XDG_CONFIG_HOME", ".config"),
		Data:   xdg("XDG_DATA_HOME", ".local/share"),
		State:  state,
		Logs:   filepath.Join(state, "logs"),
	}, nil
}

// ConfigFile is the default configuration file.
func (f Folders) ConfigFile() string { return filepath.Join(f.Config, "config.jsonc") }

// ConfDir is the folder of further configuration files.
func (f Folders) ConfDir() string { return filepath.Join(f.Config, "conf.d") }

// LastGood is the copy of the newest configuration that was applied.
func (f Folders) LastGood() string { return filepath.Join(f.State, "config.last-good.json") }

// LastEnd is the file in which a daemon that could not start, or had to stop, says
// why. Whoever started it in the background finds the reason there.
func (f Folders) LastEnd() string { return filepath.Join(f.State, "last-end.txt") }

// all are the folders, each once.
func (f Folders) all() []string {
	var list []string
	for _, dir := range []string{f.Config, f.Data, f.State, f.Logs} {
		if !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// Make creates the folders for the user alone: by their permissions, and on Windows by
// their access lists. A folder that the user named and that is there already keeps its
// own; see Exposed.
func (f Folders) Make() error {
	for _, dir := range f.all() {
		if err := makePrivate(dir, !f.Own); err != nil {
			return err
		}
	}
	return nil
}

// Exposed lists the folders whose files others may come to because the folder lets them.
// It is always empty but on Windows: elsewhere each file has permissions of its own.
func (f Folders) Exposed() (list []string) {
	for _, dir := range f.all() {
		if exposed(dir) {
			list = append(list, dir)
		}
	}
	return list
}
