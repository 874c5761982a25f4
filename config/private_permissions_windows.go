package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// On Windows the permissions 0700 and 0600 have no effect: access is granted by the access list
// of a file, which a new file inherits from its folder. Therefore the folders are private, by a
// list that is not inherited from the parent ("P") and that all files and folders in them inherit
// ("OICI"): full access ("FA") for the user and for the system ("SY"), which runs backup and
// search.
//
// https://learn.microsoft.com/windows/win32/secauthz/dacl-for-a-new-object
// https://learn.microsoft.com/windows/win32/secauthz/ace-strings

// currentUserSID is the user who runs this process.
func currentUserSID() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("cannot determine the current user: %w", err)
	}
	return user.User.Sid, nil
}

// privateList is the access list of our folders.
func privateList() (*windows.SECURITY_DESCRIPTOR, error) {
	sid, err := currentUserSID()
	if err != nil {
		return nil, err
	}
	return windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + sid.String() + ")(A;OICI;FA;;;SY)")
}

// makePrivate creates a folder that only the user may access from the start. An existing folder
// is closed to other users, with its content, if ours reports that it contains only our files.
func makePrivate(dir string, ours bool) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	list, err := privateList()
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	err = windows.CreateDirectory(name, &windows.SecurityAttributes{Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: list})
	if err == nil {
		return nil
	}
	if !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return errors.Join(err, &os.PathError{Op: "mkdir", Path: dir, Err: windows.ERROR_DIRECTORY})
	}
	if !ours || !exposedByACL(dir) {
		return nil
	}
	acl, _, err := list.DACL()
	if err != nil {
		return err
	}
	// Windows propagates the list to the content of the folder.
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("cannot restrict access to the folder %s: %w", dir, err)
	}
	return nil
}

// exposedByACL reports whether another user has any access to a folder. It ignores administrators,
// who can take ownership anyway, and the placeholders for the creator and owner of a file. A list
// that cannot be read counts as exposed.
func exposedByACL(dir string) bool {
	info, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return true
	}
	acl, _, err := info.DACL()
	if err != nil || acl == nil { // without a list everybody has full access
		return true
	}
	me, err := currentUserSID()
	if err != nil {
		return true
	}
	for i := range acl.AceCount {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, uint32(i), &entry); err != nil {
			return true
		}
		switch entry.Header.AceType {
		case windows.ACCESS_DENIED_ACE_TYPE:
			continue
		case windows.ACCESS_ALLOWED_ACE_TYPE:
		default: // conditional and object entries, which we never set
			return true
		}
		who := (*windows.SID)(unsafe.Pointer(&entry.SidStart))
		if who.Equals(me) {
			continue
		}
		known := false
		for _, kind := range []windows.WELL_KNOWN_SID_TYPE{
			windows.WinLocalSystemSid, windows.WinBuiltinAdministratorsSid, windows.WinCreatorOwnerSid, windows.WinCreatorOwnerRightsSid,
		} {
			known = known || who.IsWellKnown(kind)
		}
		if !known {
			return true
		}
	}
	return false
}

// checkWriters allows every file: files inherit the access list of their folder.
func checkWriters(string, os.FileInfo) error { return nil }
