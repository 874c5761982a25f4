package osutil

import "fmt"

// temporaryProgram matches the path of a program in a folder that soon disappears. macOS starts a downloaded
// bundle that was not moved yet from a random folder. Explorer and other programs for archives start a program
// that was not extracted from a folder for temporary files.
var temporaryProgram = LazyRegexp(`(?i)/AppTranslocation/|\\Temp\\(Temp\d+_|7z|Rar\$)[^\\]*\\`)

// CheckInstalled returns an error if what lasts, such as the entry of a client or start at login,
// must not name the program, because it is a copy that soon disappears.
func CheckInstalled(program string) error {
	if !temporaryProgram().MatchString(program) {
		return nil
	}
	return fmt.Errorf("Drawbridge runs from a temporary copy that will disappear, %s: quit it, move it to the Applications folder (macOS) or extract the whole archive (Windows), and start it there", program)
}
