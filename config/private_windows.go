package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// On Windows the permissions 0700 and 0600 mean nothing: what a file lets in is its
// access list, which a new one takes from its folder. So it is the folders that are the
// person's alone, by a list that they do not share with the folder above ("P") and that
// all files and folders in them inherit ("OICI"): full access ("FA") for the user and
// for the system itself ("SY"), which backs up and searches.
//
// https://learn.microsoft.com/windows/win32/secauthz/dacl-for-a-new-object
// https://learn.microsoft.com/windows/win32/secauthz/ace-strings

// person is the user who runs us.
func person() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("cannot tell who runs us: %w", err)
	}
	return user.User.Sid, nil
}

// privateList is the access list of a folder of ours.
func privateList() (*windows.SECURITY_DESCRIPTOR, error) {
	sid, err := person()
	if err != nil {
		return nil, err
	}
	return windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + sid.String() + ")(A;OICI;FA;;;SY)")
}

// makePrivate makes a folder that is the user's alone from its first moment. One that
// is there already is closed to others when ours says that nothing but ours lies in it;
// what it holds then follows.
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
	if !ours || !exposed(dir) {
		return nil
	}
	acl, _, err := list.DACL()
	if err != nil {
		return err
	}
	// The system hands the list on to what is in the folder.
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("cannot close the folder %s to others: %w", dir, err)
	}
	return nil
}

// exposed reports whether somebody else may do anything in a folder. Administrators do
// not count: they may take whatever they want. Neither do the names that stand for
// whoever made or owns a file. What cannot be read counts as exposed.
func exposed(dir string) bool {
	info, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return true
	}
	acl, _, err := info.DACL()
	if err != nil || acl == nil { // no list at all: everybody may do everything
		return true
	}
	me, err := person()
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
		default: // conditions and objects: nothing that we would set
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
