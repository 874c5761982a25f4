package clientconf

import (
	"strings"
	"testing"
)

func TestWhatIsSharedHoldsNoSecret(t *testing.T) {
	out, names, err := Shareable("git", []byte(`{"command":"g","args":["--token=ghp_abcdefgh12345678","--dir","/x"],"env":{"API_KEY":"hunter2hunter2","LEVEL":"info","KEPT":"${secret:OTHER}"},"headers":{"Authorization":"Bearer tok_99887766"},"url":"https://me:pw123456@x.example/?api_key=zzzzyyyy1"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ghp_abcdefgh", "hunter2", "tok_9988", "pw123456", "zzzzyyyy1"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%s is in %s", secret, out)
		}
	}
	for _, kept := range []string{`"LEVEL":"info"`, `"/x"`, "Bearer ${secret:", "${secret:OTHER}"} {
		if !strings.Contains(string(out), kept) {
			t.Errorf("%s is not in %s", kept, out)
		}
	}
	if len(names) != 6 {
		t.Errorf("needed are %v", names)
	}
}

func TestWhatIsSharedHoldsNoSecretOfAnyKey(t *testing.T) {
	out, names, err := Shareable("docs", []byte(`{"url":"https://x.example","oauth":{"clientId":"me","clientSecret":"cnry-client-1"},"docker":{"mounts":["/a:/b"],"env":{"DB_PASSWORD":"cnry-docker-2"}},"odd":[{"x":"ghp_cnry0123456789"}],"requestTimeoutMs":9007199254740993,"rules":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "cnry") {
		t.Errorf("a secret is in %s", out)
	}
	for _, kept := range []string{`"clientId":"me"`, `"/a:/b"`, "9007199254740993", `{"a":1}`} {
		if !strings.Contains(string(out), kept) {
			t.Errorf("%s is not in %s", kept, out)
		}
	}
	if len(names) != 3 {
		t.Errorf("needed are %v", names)
	}
}
