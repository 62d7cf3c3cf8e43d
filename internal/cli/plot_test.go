package cli_test

import (
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// program runs the command line in a process of its own, in a folder.
func program(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Dir = append(os.Environ(), asProgram+"=1"), dir
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if e := cmd.Run(); e != nil && !errors.As(e, &exit) {
		t.Fatal(e)
	}
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// sweep makes a folder with runs of two values of ζ and two seeds, which names their folders.
func sweep(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, zeta := range []string{"1", "10"} {
		for _, seed := range []string{"1", "2"} {
			args := append([]string{"train", "--quiet", "--zeta", zeta, "--seed", seed, "--out", "zeta-" + zeta + "-seed-" + seed},
				strings.Fields(strings.Replace(tinyLabels, "--rounds 2", "--rounds 3", 1))...)
			if status, _, stderr := program(t, dir, args...); status != 0 {
				t.Fatal(stderr)
			}
		}
	}
	return dir
}

// plotted runs plot, which is to succeed, and returns the file that it left.
func plotted(t *testing.T, dir, out string, args ...string) []byte {
	t.Helper()
	status, stdout, stderr := program(t, dir, append([]string{"plot", "--out", out}, args...)...)
	if status != 0 || stdout != out+"\n" || stderr != "" {
		t.Fatalf("plot %v: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, out))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// texts returns the text in an SVG, and fails unless it is XML.
func textsOf(t *testing.T, svg []byte) string {
	t.Helper()
	var all []string
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "\n")
		}
		if err != nil {
			t.Fatalf("SVG: %v\n%s", err, svg)
		}
		if chars, ok := token.(xml.CharData); ok && strings.TrimSpace(string(chars)) != "" {
			all = append(all, string(chars))
		}
	}
}

// TestPlot draws runs of this program in every way, as SVG, the same bytes twice, and as PNG.
func TestPlot(t *testing.T) {
	serial(t)
	dir := sweep(t)
	for line, want := range map[string]string{
		". ":                                      "zeta 1\nzeta 10",
		"--metric nll zeta-1-seed-1":              "pfedbayes · mnist-sample · custom · mlp:8 · seed 1",
		"zeta-1-seed-2 zeta-1-seed-1":             "mean ± std of seeds 1, 2",
		"--metric kl .":                           "KL of the clients' distributions (nats)",
		"--kind sweep .":                          "mean ± std of seeds 1, 2 · round 3",
		"--kind sweep --round 1 --x zeta .":       "round 1",
		"--kind reliability zeta-1-seed-1":        "10 draws of the weights",
		"--kind reliability .":                    "zeta 10, mean weights",
		"--kind clients zeta-1-seed-1":            "pfedbayes, seed 1, round 3",
		"--kind clients --round 2 .":              "zeta 10, seed 2, round 2",
		"--kind clients --metric loss .":          "training loss (nats)",
		"--metric worst zeta-1-seed-1/rounds.csv": "accuracy of the worst client (%)",
	} {
		args := strings.Fields(line)
		svg := plotted(t, dir, "one.svg", args...)
		if got := textsOf(t, svg); !strings.Contains(got, want) {
			t.Errorf("%s: text\n%s\nlacks %q", line, got, want)
		}
		if again := plotted(t, dir, "two.svg", args...); string(again) != string(svg) {
			t.Errorf("%s: the second SVG is not the first", line)
		}
		if strings.Contains(line, "--metric") || strings.Contains(line, "--round") {
			continue // a PNG takes longer, and one of each kind is enough
		}
		plotted(t, dir, "one.png", args...)
		f, err := os.Open(filepath.Join(dir, "one.png"))
		if err != nil {
			t.Fatal(err)
		}
		image, err := png.Decode(f)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		blue := 0 // the first colour of all pictures
		for x := 0; x < image.Bounds().Dx(); x += 2 {
			for y := 0; y < image.Bounds().Dy(); y += 2 {
				if color.NRGBAModel.Convert(image.At(x, y)) == (color.NRGBA{0, 114, 178, 255}) {
					blue++
				}
			}
		}
		if blue < 25 {
			t.Errorf("%s: %d pixels of a quarter of the PNG are of the first line or bar", line, blue)
		}
		_ = f.Close()
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

// TestPlotDefault: without flags it is curves.png, which replaces another one.
func TestPlotDefault(t *testing.T) {
	run, _ := train(t, tinyLabels)
	dir := filepath.Dir(run)
	if err := os.WriteFile(filepath.Join(dir, "curves.png"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := program(t, dir, "plot", "run")
	text, err := os.ReadFile(filepath.Join(dir, "curves.png"))
	if status != 0 || stdout != "curves.png\n" || stderr != "" || err != nil || !strings.HasPrefix(string(text), "\x89PNG") {
		t.Errorf("status %d, stdout %q, stderr %q, file %.8q (%v)", status, stdout, stderr, text, err)
	}
}

// head is the first line of a rounds.csv with the columns that plot needs.
const roundsHead = "run,algo,dataset,regime,model,seed,round,pm_acc,gm_acc\n"

// TestPlotGrid draws the grid that search.sh leaves. Of a point that diverged there is no number.
func TestPlotGrid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "grid.csv", "rho,zeta,seed,round,pm_acc,gm_acc\n-1,1,1,200,0.91,0.6\n-1,10,1,,,\n-2,1,1,200,0.95,0.875\n-2,10,1,200,0.9275,0.9\n")
	got := textsOf(t, plotted(t, dir, "grid.svg", "--kind", "heatmap", "grid.csv"))
	for _, cell := range []string{"91.0", "95.0", "92.8", "60.0", "87.5", "90.0", "–", "rho", "zeta", "seed 1 · round 200 · accuracy (%)"} {
		if !strings.Contains("\n"+got+"\n", "\n"+cell+"\n") {
			t.Errorf("text\n%s\nlacks %q", got, cell)
		}
	}
	if got := textsOf(t, plotted(t, dir, "line.svg", "--kind", "sweep", "--x", "rho", "grid.csv")); !strings.Contains(got, "zeta 1\nzeta 10") {
		t.Errorf("sweep: text\n%s\nlacks the lines for ζ", got)
	}
}

// TestPlotColumns: all columns that rounds.csv can have are results, and none makes of each evaluation a run of its own.
func TestPlotColumns(t *testing.T) {
	run, _ := train(t, tinyLabels+" --val-fraction 0.4 --drop-rate 0.3 --straggler-rate 0.5")
	plotted(t, filepath.Dir(run), "curves.svg", "run")
}

// TestPlotBeliefs draws what two clients think of an image at two rounds, one of which one client lacks.
func TestPlotBeliefs(t *testing.T) {
	dir := t.TempDir()
	rows := "client,round,class,probability,deviation,label\n"
	for _, at := range []string{"3,0", "3,100", "7,100"} {
		rows += at + ",2,0.75,0.125,2\n" + at + ",0,0.25,0.5,2\n"
	}
	write(t, dir, "image.csv", rows)
	got := textsOf(t, plotted(t, dir, "image.svg", "--kind", "beliefs", "image.csv"))
	for _, part := range []string{"round 0", "round 100", "client 3", "client 7", "class of the image", "Probability of each class, ± std over draws of the weights"} {
		if strings.Count("\n"+got+"\n", "\n"+part+"\n") != 1 {
			t.Errorf("text\n%s\nhas not %q, once", got, part)
		}
	}
	plotted(t, dir, "image.png", "--kind", "beliefs", "image.csv")
}

// TestPlotNotes: where the mean ends before the runs do is said, and cells without a number are left out.
func TestPlotNotes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.csv", roundsHead+"x,a,d,r,m,1,1,0.5,NaN\nx,a,d,r,m,1,2,0.6,\nx,a,d,r,m,2,1,0.7,Inf\n")
	status, stdout, stderr := program(t, dir, "plot", "a.csv")
	if want := "note: a: means end at round 1 with seed 2; seed 1 goes on to 2\n"; status != 0 || stdout != "curves.png\n" || stderr != want {
		t.Errorf("status %d, stdout %q, stderr %q, want note %q", status, stdout, stderr, want)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPlotRefused: what cannot be drawn is one line on stderr, and no file.
func TestPlotRefused(t *testing.T) {
	dir := t.TempDir()
	row := "x,a,d,r,m,1,1,0.5,0.4\n"
	for name, text := range map[string]string{
		"empty.csv": "", "head.csv": roundsHead, "good.csv": roundsHead + row,
		"column.csv":  "round,accuracy\n1,0.5\n",
		"ragged.csv":  roundsHead + row + "x,a,d,r,m,1,2,0.5\n",
		"nan.csv":     roundsHead + "x,a,d,r,m,1,1,NaN,\nx,a,d,r,m,1,2,,Inf\n",
		"word.csv":    roundsHead + "x,a,d,r,m,1,1,0.5,good\n",
		"huge.csv":    roundsHead + "x,a,d,r,m,1,1,1e300,0.4\n",
		"round.csv":   roundsHead + "x,a,d,r,m,1,one,0.5,0.4\n",
		"twice.csv":   roundsHead + row + row,
		"quote.csv":   roundsHead + `"x,a,d,r,m,1,1,0.5,0.4` + "\n",
		"two.csv":     "zeta,rho,round,pm_acc,gm_acc\n1,-1,1,0.5,0.4\n2,-2,1,0.5,0.4\n",
		"crooked.csv": "zeta,round,pm_acc,gm_acc\n1,1,0.5,0.4\n2,2,0.5,0.4\n",
		"belief.csv":  "client,round,class,probability,deviation\n1,0,0,1.5,0\n",
		"again.csv":   "client,round,class,probability,deviation\n1,0,0,0.5,0\n1,0,0,0.5,0\n",
		"bare.csv":    "client,round,class,probability,deviation\n",
		"three.csv":   "client,round,class,probability,deviation\n0,0,0,0.5,0\n1,0,0,0.5,0\n2,0,0,0.5,0\n",
		"crowd.csv":   "client,round,class,probability,deviation\n0,0,0,1,0\n1,0,0,1,0\n2,0,0,1,0\n3,0,0,1,0\n4,0,0,1,0\n5,0,0,1,0\n6,0,0,1,0\n7,0,0,1,0\n8,0,0,1,0\n9,0,0,1,0\n10,0,0,1,0\n11,0,0,1,0\n12,0,0,1,0\n",
	} {
		write(t, dir, name, text)
	}
	for _, name := range []string{"folder/none", "folder.svg", "broken", "old"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "broken/rounds.csv", roundsHead+row)
	write(t, dir, "broken/config.json", "{")
	write(t, dir, "old/rounds.csv", roundsHead+row)
	for line, want := range map[string]string{
		"2 plot":                                        "plot: want the folder of a run, or a CSV of runs, as in fedbayes plot [flags] PATH...",
		"2 plot good.csv --kind sweep":                  `plot: unexpected argument "--kind"; flags go before the paths, as in fedbayes plot [flags] PATH...`,
		"2 plot --knd sweep good.csv":                   "--knd: plot has no such flag (did you mean --kind?)",
		"2 plot --kind curve good.csv":                  `--kind "curve": want one of curves, sweep, heatmap, reliability, clients, beliefs (did you mean curves?)`,
		"2 plot --metric luck good.csv":                 `--metric "luck": want one of acc, worst, nll, ece, loss, kl`,
		"2 plot --round 0 good.csv":                     "--round 0: want a whole number ≥ 1",
		"2 plot --x zeta good.csv":                      "--x: no effect on --kind curves",
		"2 plot --kind reliability --metric nll old":    "--metric: no effect on --kind reliability",
		"2 plot --out a.pdf good.csv":                   `--out "a.pdf": want a name that ends with .png or .svg`,
		"2 plot --out .svg good.csv":                    `--out ".svg": want a name that ends with .png or .svg`,
		"2 plot --out -a.svg good.csv":                  `--out "-a.svg": want a file (write ./-a.svg for one of that name)`,
		"2 plot --out folder.svg good.csv":              "--out folder.svg: want a file, this is a folder",
		"2 plot --out no/a.svg good.csv":                "--out no/a.svg: there is no folder no",
		"2 plot --out a.svg --out b.svg good.csv":       "--out: given 2 times, want it once",
		"2 plot --kind sweep good.csv":                  "the runs differ in no setting, and a sweep is over one",
		"2 plot --kind sweep --x mu two.csv":            "--x mu: want a setting that varies: rho, zeta",
		"2 plot --kind sweep two.csv":                   "several settings vary: choose one with --x: rho, zeta",
		"2 plot --kind sweep --round 5 crooked.csv":     "no run has an evaluation after round 5",
		"2 plot --kind heatmap crooked.csv":             "a heat map is over two settings, and fewer vary among the runs",
		"2 plot --kind heatmap --x rho --y rho two.csv": "--x and --y are both rho, want two settings",
		"3 plot --kind beliefs good.csv":                "good.csv: no column client; it has run, algo, dataset, regime, model, seed, round, pm_acc, gm_acc",
		"3 plot --kind beliefs belief.csv":              `belief.csv: line 2: probability is "1.5", want a number from 0 to 1`,
		"3 plot --kind beliefs again.csv":               "again.csv: line 3 is the second of client 1, round 0, class 0",
		"3 plot --kind beliefs bare.csv":                "bare.csv: no row",
		"3 plot --kind beliefs none.csv":                "none.csv: no such file",
		"2 plot --kind beliefs bare.csv bare.csv":       "plot --kind beliefs: 2 paths, want one run or CSV",
		"3 plot --kind beliefs old":                     "old/beliefs.csv: no such file, as the run was made without --watch",
		"2 plot --kind beliefs --clients 0,x three.csv": `--clients "0,x": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"2 plot --kind beliefs --clients 0,5 three.csv": "--clients 0,5: three.csv has no row of client 5",
		"2 plot --kind beliefs crowd.csv":               "13 clients at 1 rounds, want at most 12, which --clients names, at 8",
		"2 plot --clients 0 good.csv":                   "--clients: no effect on --kind curves",
		"2 plot --kind beliefs --round 2 bare.csv":      "--round: no effect on --kind beliefs",
		"3 plot nowhere":                                "nowhere: no such folder or file",
		"3 plot folder":                                 "folder: no run: want a folder with rounds.csv, or with such folders in it",
		"3 plot broken":                                 "broken/config.json: unexpected end of JSON input",
		"3 plot empty.csv":                              "empty.csv: empty",
		"3 plot head.csv":                               "head.csv: no row",
		"3 plot column.csv":                             "column.csv: no column pm_acc; it has round, accuracy",
		"3 plot ragged.csv":                             "ragged.csv: line 3 has 8 cells, want 9 as in the first line",
		"3 plot nan.csv":                                "nan.csv: no evaluation has a number in pm_acc or gm_acc",
		"3 plot --metric ece good.csv":                  "good.csv: no evaluation has a number in pm_ece or gm_ece",
		"3 plot word.csv":                               `word.csv: line 2: gm_acc is "good", want a number`,
		"3 plot huge.csv":                               "huge.csv: line 2: pm_acc is 1e+300, want a number up to 1e+100",
		"3 plot round.csv":                              `round.csv: line 2: round is "one", want a whole number ≥ 0`,
		"3 plot twice.csv":                              "twice.csv: line 3 is the second of round 1 with these settings and seed",
		"3 plot quote.csv":                              `quote.csv: line 2: extraneous or missing " in quoted-field`,
		"3 plot good.csv good.csv":                      "good.csv and good.csv are runs of the same settings and seed 1: want one of them",
		"3 plot --kind clients good.csv":                "good.csv: it says nothing of clients: want the folder of a run",
		"3 plot --kind reliability good.csv":            "good.csv: it says nothing of confidence: want the folder of a run",
		"3 plot --kind clients old":                     "old/clients.csv: no such file",
		"3 plot --kind reliability old":                 "old/reliability.csv: no such file",
		"2 report":                                      "report: want the folder of a run, or a CSV of runs, as in fedbayes report [--out FILE] PATH...",
		"2 report --out a.htm good.csv":                 `--out "a.htm": want a name that ends with .html`,
		"3 report good.csv nowhere":                     "nowhere: no such folder or file",
		"3 report broken":                               "broken/config.json: unexpected end of JSON input",
	} {
		args := strings.Fields(line)
		status, stdout, stderr := program(t, dir, args[1:]...)
		if strconv.Itoa(status) != args[0] || stdout != "" || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant\nfedbayes: %s", line, status, stdout, stderr, want)
		}
		for _, pattern := range []string{"*.png", "*.html", "a.*", "*.tmp"} {
			if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
				t.Fatalf("%s: left %v (%v)", line, left, err)
			}
		}
	}
}

// TestReliabilityFile: the bins of a run give its calibration error.
func TestReliabilityFile(t *testing.T) {
	dir, _ := train(t, "--algo pfedbayes"+tinyLabels)
	gap, n := map[string]float64{}, map[string]float64{}
	for _, row := range table(t, filepath.Join(dir, "reliability.csv")) {
		count, _ := strconv.ParseFloat(row["count"], 64)
		if count == 0 {
			continue
		}
		confidence, err := strconv.ParseFloat(row["confidence"], 64)
		accuracy, also := strconv.ParseFloat(row["accuracy"], 64)
		bin, too := strconv.ParseFloat(row["bin"], 64)
		if err := errors.Join(err, also, too); err != nil || !(confidence > bin/15-1e-9 && confidence <= (bin+1)/15+1e-9) {
			t.Errorf("%v: %v, or not in its bin", row, err)
		}
		key := row["model"] + row["mc"]
		gap[key] += count * math.Abs(confidence-accuracy)
		n[key] += count
	}
	s := object(t, filepath.Join(dir, "summary.json"))
	for key, score := range map[string]any{
		"pm0": s["last_pm"], "gm0": s["last_gm"],
		"pm10": s["drawn"].(map[string]any)["pm"], "gm10": s["drawn"].(map[string]any)["gm"],
	} {
		want := score.(map[string]any)["ece"].(float64)
		if got := gap[key] / n[key]; n[key] != 100 || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: ECE %v of %v predictions, want %v of 100", key, got, n[key], want)
		}
	}
}

// TestReport: a page of one run, and one of several, asks for nothing from outside and shows text as text.
func TestReport(t *testing.T) {
	dir := sweep(t)
	strange := "<b>&'\"zeta"
	if runtime.GOOS == "windows" {
		t.Skip("no folders of such names")
	}
	if err := os.Rename(filepath.Join(dir, "zeta-1-seed-1"), filepath.Join(dir, strange)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "evil.csv", "algo,seed,round,pm_acc,gm_acc\n<script>alert(1)</script>,1,1,0.5,0.4\n<script>alert(1)</script>,1,2,0.5,0.4\n")
	outside := regexp.MustCompile(`(?i)\b(src|href)\s*=|url\(|@import|<script|<link|<iframe|<b>`)
	for path, want := range map[string][]string{
		strange:    {"&lt;b&gt;&amp;&#39;&#34;zeta", "By round: accuracy (%)", "Clients after the last round", ">finished<", "<td>zeta</td><td>1</td>", "10 draws of the weights"},
		".":        {"<td>zeta 10</td><td class=\"number\">2</td><td class=\"number\">3</td>", " ± ", "over the setting that varies", "Confidence and accuracy"},
		"evil.csv": {"&lt;script&gt;alert(1)&lt;/script&gt;", "<td class=\"number\">50.00</td><td class=\"number\">40.00</td>"},
	} {
		status, stdout, stderr := program(t, dir, "report", "--out", "page.html", path)
		if status != 0 || stdout != "page.html\n" || stderr != "" {
			t.Fatalf("%s: status %d, stdout %q, stderr %q", path, status, stdout, stderr)
		}
		text, err := os.ReadFile(filepath.Join(dir, "page.html"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page lacks %q", path, part)
			}
		}
		if found := outside.FindString(page); found != "" {
			t.Errorf("%s: the page has %q", path, found)
		}
		if svgs := strings.Count(page, "<svg"); svgs == 0 || svgs != strings.Count(page, "<figure") || strings.Contains(page, "<?xml") {
			t.Errorf("%s: %d SVGs in %d figures", path, svgs, strings.Count(page, "<figure"))
		}
		if _, _, stderr := program(t, dir, "report", "--out", "again.html", path); stderr != "" {
			t.Fatal(stderr)
		}
		if again, err := os.ReadFile(filepath.Join(dir, "again.html")); err != nil || string(again) != page {
			t.Errorf("%s: the second page is not the first (%v)", path, err)
		}
	}
}
