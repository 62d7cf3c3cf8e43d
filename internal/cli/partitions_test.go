package cli_test

import (
	"path/filepath"
	"testing"
)

// TestPermutedRun: --partition permuted has the shares of iid, and other data all the same.
func TestPermutedRun(t *testing.T) {
	const flags = " --algo fedavg --test-per-client 100 --clients 20 --participation 2 --val-fraction 0.1" + tinySteps
	iid, _ := train(t, flags+" --partition iid")
	permuted, _ := train(t, flags+" --partition permuted")
	var hashes []any
	for _, dir := range []string{iid, permuted} {
		c := object(t, filepath.Join(dir, "config.json"))
		settings := c["settings"].(map[string]any)
		if settings["test-per-client"] != 100.0 || settings["order"] != "shuffled" {
			t.Errorf("settings %v", settings)
		}
		for _, client := range c["clients"].([]any) {
			if c := client.(map[string]any); c["test"] != 100.0 || c["train"].(float64)+c["val"].(float64) != 400 {
				t.Errorf("%s: client %v, want 400 + 100", dir, c)
			}
		}
		split := c["split"].(map[string]any)
		if split["images_of_two_clients"] != 0.0 || split["test_images_trained_on"] != 0.0 || split["images_of_no_client"] != 0.0 {
			t.Errorf("%s: split %v", dir, split)
		}
		hashes = append(hashes, c["clients"].([]any)[0].(map[string]any)["sha256"])
	}
	if hashes[0] == hashes[1] {
		t.Error("the fingerprint does not tell permuted images from others")
	}
}

// TestHundredClients is the split of MNIST that other papers have: 600 training and 100 test images for each of 100 clients.
func TestHundredClients(t *testing.T) {
	data := " --algo fedavg --dataset mnist --data-dir " + filepath.Dir(fullMNIST(t)) + " --clients 100 --participation 2" + tinySteps
	for _, flags := range []string{" --partition iid --test-per-client 100", " --partition permuted --order published"} {
		dir, _ := train(t, data+flags)
		for _, client := range object(t, filepath.Join(dir, "config.json"))["clients"].([]any) {
			if c := client.(map[string]any); c["train"] != 600.0 || c["test"] != 100.0 {
				t.Errorf("%s: %v", flags, c)
			}
		}
	}
}
