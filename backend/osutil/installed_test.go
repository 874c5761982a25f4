package osutil

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestProgramInTemporaryFolderIsNotInstalled(t *testing.T) {
	for program, installed := range map[string]bool{
		"/private/var/folders/ab/T/AppTranslocation/0F-1/d/Drawbridge.app/Contents/Helpers/x": false,
		`C:\Users\ann\AppData\Local\Temp\Temp1_drawbridge-1.zip\drawbridge.exe`:               false,
		`C:\Users\ann\AppData\Local\Temp\7zO8F1B\drawbridge.exe`:                              false,
		`C:\Users\ann\AppData\Local\Temp\Rar$EXa1.2\drawbridge.exe`:                           false,
		`C:\Users\ann\AppData\Local\Programs\Drawbridge\drawbridge.exe`:                       true,
		`C:\Temp\drawbridge\drawbridge.exe`:                                                   true,
		"/Applications/Drawbridge.app/Contents/MacOS/drawbridge":                              true,
		"/tmp/Temp1_x/drawbridge":                                                             true,
	} {
		assert.Equal(t, installed, CheckInstalled(program) == nil, program)
	}
}
