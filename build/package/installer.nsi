; Installs for the current user, without administrator rights.
; Run by build/package.sh, which defines VERSION, PLAIN, FROM, TO and TARGET.
Target ${TARGET}
Name "Drawbridge ${VERSION}"
OutFile "${TO}"
InstallDir "$LOCALAPPDATA\Programs\Drawbridge"
RequestExecutionLevel user
SetCompressor /SOLID lzma
Icon "build/icons/app.ico"
VIProductVersion "${PLAIN}.0"
VIAddVersionKey ProductName "Drawbridge"
VIAddVersionKey FileDescription "Drawbridge"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey LegalCopyright "Apache-2.0"

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\Drawbridge"

Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

Section
	; Stop an older version in order if it runs.
	nsExec::Exec '"$INSTDIR\drawbridge.exe" quit'
	Pop $0 ; 0 if one ran
	SetOutPath "$INSTDIR"
	File "${FROM}/drawbridge.exe"
	File "${FROM}/drawbridgew.exe"
	File "${FROM}/drawbridge-window.exe"
	File "${FROM}/LICENSE"
	File "${FROM}/THIRD-PARTY.txt"
	WriteUninstaller "$INSTDIR\uninstall.exe"
	CreateShortcut "$SMPROGRAMS\Drawbridge.lnk" "$INSTDIR\drawbridgew.exe"
	; Handler of drawbridge:// links, which the user must confirm.
	WriteRegStr HKCU "Software\Classes\drawbridge" "" "URL:Drawbridge"
	WriteRegStr HKCU "Software\Classes\drawbridge" "URL Protocol" ""
	WriteRegStr HKCU "Software\Classes\drawbridge\shell\open\command" "" '"$INSTDIR\drawbridgew.exe" "%1"'
	WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "Drawbridge"
	WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
	WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\drawbridge-window.exe"
	WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
	WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
	WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
	WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
	StrCmp $0 0 0 +2
	Exec '"$INSTDIR\drawbridgew.exe" serve'
SectionEnd

Section Uninstall
	; Restore the clients' entries and disable the start at login; the history remains.
	nsExec::Exec '"$INSTDIR\drawbridge.exe" uninstall --yes'
	nsExec::Exec '"$INSTDIR\drawbridge.exe" quit'
	DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "drawbridge"
	DeleteRegKey HKCU "Software\Classes\drawbridge"
	DeleteRegKey HKCU "Software\Classes\AppUserModelId\Drawbridge" ; sender of notifications
	DeleteRegKey HKCU "${UNINSTALL}"
	Delete "$SMPROGRAMS\Drawbridge.lnk"
	Delete "$INSTDIR\drawbridge.exe"
	Delete "$INSTDIR\drawbridgew.exe"
	Delete "$INSTDIR\drawbridge-window.exe"
	Delete "$INSTDIR\LICENSE"
	Delete "$INSTDIR\THIRD-PARTY.txt"
	Delete "$INSTDIR\uninstall.exe"
	RMDir "$INSTDIR"
SectionEnd
