package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Folders holds the paths of all files of one Drawbridge. With a named data folder (--data,
// DRAWBRIDGE_DATA) everything is inside it; otherwise each part is at the place that the
// platform defines. Daemon, command line and shim compute the same paths. The folders need not
// exist.
type Folders struct {
	Config string // config.jsonc and conf.d
	Data   string // runtime.json, lock, tokens, database
	State  string // what can be recreated: the last good configuration, the ledger
	Logs   string
	// Web are the folders in which the web engine of the window stores its cache and what the page
	// stores. It chooses them by the name of the program, whatever data folder is used.
	Web []string
	// CustomData reports whether the data folder was named: the entry of a shim has to name it,
	// too.
	CustomData bool
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
		return Folders{Config: abs, Data: abs, State: abs, Logs: filepath.Join(abs, "logs"), CustomData: true}, nil
	}
	home := env("HOME")
	if goos == "windows" { // where shells such as that of Git set HOME to a path of their own
		home = env("USERPROFILE")
	}
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return Folders{}, fmt.Errorf("cannot find the home folder: %w; set it, or specify a folder for all data with --data", err)
		}
	}
	switch goos {
	case "darwin":
		support := filepath.Join(home, "Library", "Application Support", "Drawbridge")
		return Folders{Config: support, Data: support, State: support,
			Logs: filepath.Join(home, "Library", "Logs", "Drawbridge"),
			Web:  []string{filepath.Join(home, "Library", "WebKit", "app.drawbridge"), filepath.Join(home, "Library", "Caches", "app.drawbridge")}}, nil
	case "windows":
		appData := cmp.Or(env("APPDATA"), filepath.Join(home, "AppData", "Roaming"))
		roaming := filepath.Join(appData, "Drawbridge")
		local := filepath.Join(cmp.Or(env("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local")), "Drawbridge")
		return Folders{Config: roaming, Data: local, State: local, Logs: filepath.Join(local, "logs"),
			Web: []string{filepath.Join(appData, "drawbridge-window.exe")}}, nil
	}
	xdg := func(name, fallback string) string {
		dir := env(name)
		if !filepath.IsAbs(dir) { // XDG Base Directory: a relative path is treated as unset
			dir = filepath.Join(home, fallback)
		}
		return filepath.Join(dir, "drawbridge")
	}
	state, data := xdg("XDG_STATE_HOME", ".local/state"), xdg("XDG_DATA_HOME", ".local/share")
	return Folders{
		Config: xdg("XDG_CONFIG_HOME", ".config"),
		Data:   data,
		State:  state,
		Logs:   filepath.Join(state, "logs"),
		Web:    []string{data + "-window", xdg("XDG_CACHE_HOME", ".cache") + "-window"},
	}, nil
}

// ConfigFile is the default configuration file.
func (f Folders) ConfigFile() string { return filepath.Join(f.Config, "config.jsonc") }

// ConfDir is the folder of further configuration files.
func (f Folders) ConfDir() string { return filepath.Join(f.Config, "conf.d") }

// LastGoodConfigFile is the copy of the last configuration that was applied.
func (f Folders) LastGoodConfigFile() string { return filepath.Join(f.State, "config.last-good.json") }

// ExitReasonFile is the file with the reason why a daemon could not start or had to stop, for a
// program that started it in the background.
func (f Folders) ExitReasonFile() string { return filepath.Join(f.State, "last-end.txt") }

// all returns the folders without duplicates.
func (f Folders) all() []string {
	var list []string
	for _, dir := range []string{f.Config, f.Data, f.State, f.Logs} {
		if !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// Make creates the folders with access for the user only, by permissions or, on Windows, by
// access lists. An existing folder that the user named keeps its access; see Exposed. It returns an
// error if files cannot be created in the data folder.
func (f Folders) Make() error {
	for _, dir := range f.all() {
		if err := makePrivate(dir, !f.CustomData); err != nil {
			return err
		}
	}
	probe, err := os.CreateTemp(f.Data, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Exposed lists the folders that give other users access to their files. It is empty except on
// Windows: elsewhere each file has its own permissions.
func (f Folders) Exposed() (list []string) {
	for _, dir := range f.all() {
		if exposedByACL(dir) {
			list = append(list, dir)
		}
	}
	return list
}
