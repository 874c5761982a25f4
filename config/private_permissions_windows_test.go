package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// aclOf returns the access control list of a file as text.
func aclOf(t *testing.T, path string) string {
	t.Helper()
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	require.NoError(t, err)
	return sd.String()
}

// grantEveryoneAccess grants everyone access to a directory, as is the case outside of the user's
// profile.
func grantEveryoneAccess(t *testing.T, dir string) {
	t.Helper()
	sd, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;WD)")
	require.NoError(t, err)
	acl, _, err := sd.DACL()
	require.NoError(t, err)
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	require.NoError(t, err)
}

// others returns who else than the user and the system is in the access list of a file.
func others(t *testing.T, path string) (all []string) {
	t.Helper()
	me, err := currentUserSID()
	require.NoError(t, err)
	entries := regexp.MustCompile(`\(([^;]*);[^)]*;([^;)]*)\)`).FindAllStringSubmatch(aclOf(t, path), -1)
	if len(entries) < 2 {
		t.Fatalf("the list of %s is %s", path, aclOf(t, path))
	}
	for _, e := range entries {
		if e[1] != "A" || e[2] != "SY" && e[2] != me.String() {
			all = append(all, e[0])
		}
	}
	return all
}

func TestFoldersArePrivate(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.Mkdir(shared, 0o700))
	grantEveryoneAccess(t, shared)
	if !exposedByACL(shared) {
		t.Fatalf("everybody may read %s, and it counts as private", aclOf(t, shared))
	}
	data := filepath.Join(shared, "data")
	f, err := FoldersFor(data, func(string) string { return "" })
	require.NoError(t, err)
	require.NoError(t, f.Make())
	for _, path := range []string{data, f.Logs} {
		if others := others(t, path); exposedByACL(path) || len(others) > 0 {
			t.Errorf("others may come to %s: %s", path, others)
		}
	}
	assert.Empty(t, f.Exposed())
}

// A directory that the user named and that already exists may contain other files: its
// permissions are not changed, and the daemon logs a warning.
func TestNamedFolderStaysAsItIs(t *testing.T) {
	data := t.TempDir()
	grantEveryoneAccess(t, data)
	f, err := FoldersFor(data, func(string) string { return "" })
	require.NoError(t, err)
	before := aclOf(t, data)
	require.NoError(t, f.Make())
	assert.Equal(t, before, aclOf(t, data), "the list")
	got := f.Exposed()
	assert.Truef(t, len(got) != 0 && got[0] == data, "exposed: %v", got)
}

// A data folder that others could read, with what is in it.
func readableData(t *testing.T) (f Folders, file string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := makePrivate(home, true); err != nil { // Wine adds the list of the parent folder
		t.Fatal(err)
	}
	f, err := FoldersFor("", func(name string) string {
		switch name {
		case "APPDATA", "LOCALAPPDATA", "USERPROFILE":
			return home
		}
		return ""
	})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(f.Data, 0o700))
	grantEveryoneAccess(t, f.Data)
	file = filepath.Join(f.Data, "admin.token")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if !exposedByACL(f.Data) {
		t.Fatalf("everybody may read %s, and it counts as private", aclOf(t, f.Data))
	}
	require.NoError(t, f.Make())
	return f, file
}

func TestDataFolderIsPrivate(t *testing.T) {
	f, _ := readableData(t)
	if others := others(t, f.Data); len(others) > 0 {
		t.Errorf("others may come to %s: %s", f.Data, others)
	}
}

// Files that were there, and new ones, have the list of their folder.
func TestFilesInDataFolderArePrivate(t *testing.T) {
	f, file := readableData(t)
	later := filepath.Join(f.Logs, "later")
	require.NoError(t, os.WriteFile(later, nil, 0o600))
	for _, path := range []string{file, later} {
		if others := others(t, path); len(others) > 0 {
			t.Errorf("others may come to %s: %s", path, others)
		}
	}
}
