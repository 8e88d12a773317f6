// SPDX-License-Identifier: Apache-2.0

package config

import "gopkg.in/yaml.v3"

// Inline writes a configuration file's bytes anew with the cables of its plan
// in the place of the file that it names: what is taken elsewhere is whole.
func Inline(b []byte, cables []Cable) ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	plan, _ := doc["plan"].(map[string]any)
	if plan == nil {
		return b, nil
	}
	var list []map[string]any
	for _, c := range cables {
		cable := map[string]any{}
		for key, text := range map[string]string{"port": c.Port, "address": c.Address, "switch": c.Switch, "switch_port": c.SwitchPort} {
			if text != "" {
				cable[key] = text
			}
		}
		if c.Rail != nil {
			cable["rail"] = *c.Rail
		}
		list = append(list, cable)
	}
	delete(plan, "cabling_file")
	plan["cabling"] = list
	return yaml.Marshal(doc)
}
