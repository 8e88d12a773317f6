// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAll(t *testing.T) {
	type part struct {
		Name  string
		Names [2]string
		Next  *part
	}
	var got struct {
		part
		List  []part
		Texts map[string]string
		N     []int
		Part  map[string]*part
	}
	const bad = `"\u001b[2J\u202e"`
	err := json.Unmarshal([]byte(`{"Name":`+bad+`,"List":[{"Names":["a",`+bad+`],"Next":{"Name":`+bad+`}}],"Texts":{"k":`+bad+`},"N":[1],"Part":{"k":{"Name":`+bad+`}}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	All(&got)
	const good = "?[2J?"
	all := []string{got.Name, got.List[0].Names[1], got.List[0].Next.Name, got.Texts["k"], got.Part["k"].Name}
	if diff := cmp.Diff([]string{good, good, good, good, good}, all); diff != "" || got.List[0].Names[0] != "a" || got.N[0] != 1 {
		t.Error(diff, got)
	}
}
