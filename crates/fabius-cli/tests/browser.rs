//! Pages of traces in a real browser (`chromium --headless`): they show what the trace says, step, filter and search, follow
//! links, stay quiet, load nothing, and take a hostile text for a text.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What one run of the browser shows: the document after its scripts, and what it says on its console.
struct Shown {
    dom: String,
    console: String,
}

fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()));
    if found.is_none() {
        eprintln!("there is no chromium: nothing is looked at in a browser");
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page that a command writes.
fn page(name: &str, arguments: &[&str]) -> String {
    let path = std::env::temp_dir().join(format!("fabius-browser-{}-{name}.html", std::process::id()));
    let out = Command::new(env!("CARGO_BIN_EXE_fabius"))
        .current_dir(root())
        .args(arguments)
        .arg("--html")
        .arg(&path)
        .output()
        .expect("the command runs");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&out.stderr)));
    std::fs::remove_file(&path).expect("the page was written");
    page
}

/// Opens the page at `#hash` on a wide screen, runs `script` in it, which writes with `say`, and looks at what became of it.
fn open(browser: &str, name: &str, page: &str, hash: &str, script: &str) -> Shown {
    open_in("2000,1200", browser, name, page, hash, script)
}

/// The same in a window of another size; none is less than 500 wide.
fn open_in(size: &str, browser: &str, name: &str, page: &str, hash: &str, script: &str) -> Shown {
    let folder = std::env::temp_dir().join(format!("fabius-browser-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join("page.html");
    let tested = format!(
        "<pre id=said-by-test></pre><script>const say = t => document.getElementById('said-by-test').textContent += t + '\\n';\
         const key = k => document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: k, bubbles: true }}));\
         const fire = (id, v, e) => {{ const x = document.getElementById(id); x.value = v; x.dispatchEvent(new Event(e)); }};\
         const now = () => document.querySelector('li.now').id;\
         const shown = () => [...document.querySelectorAll('.steps li:not(.out)')].length;\
         addEventListener('error', e => say('error ' + e.message));\
         document.addEventListener('securitypolicyviolation', e => say('request ' + e.blockedURI));\
         {script}; say('requests ' + performance.getEntriesByType('resource').length);</script></body>"
    );
    std::fs::write(&path, page.replace("</body>", &tested)).expect("the page can be written");
    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=3000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={size}"))
        .arg("--dump-dom")
        .arg(format!("file://{}{hash}", path.display()))
        .output()
        .expect("the browser runs");
    let _ = std::fs::remove_dir_all(&folder);
    let console = String::from_utf8_lossy(&out.stderr).lines().filter(|l| l.contains("CONSOLE")).collect();
    Shown { dom: String::from_utf8_lossy(&out.stdout).into_owned(), console }
}

impl Shown {
    /// What the script said.
    fn said(&self) -> Vec<&str> {
        let after = self.dom.split("id=\"said-by-test\">").nth(1).unwrap_or_else(|| panic!("no page: {}", self.dom));
        after.split("</pre>").next().unwrap_or_default().lines().collect()
    }
}

#[test]
fn pages_of_every_engine_step_filter_search_and_follow_links() {
    let Some(browser) = chromium() else { return };
    let pages: [(&str, &[&str]); 5] = [
        ("check", &["check", "examples/bluetooth.fab"]),
        ("buffers", &["check", "corpus/buffers/bug/interrupt_driver.fab"]),
        ("verify", &["verify", "examples/bluetooth.fab"]),
        ("any", &["verify", "examples/bluetooth_any.fab", "--threads", "any", "--rounds", "2"]),
        ("trace", &["trace", "examples/mcapi.ctp"]),
    ];
    for (name, arguments) in pages {
        let script = "say(now()); key('ArrowDown'); say(now()); key('End'); say(now()); key('Home'); say(now());\
            const all = shown(); fire('lane', '0', 'change'); say(shown() < all && shown() > 0); key('Escape'); say(shown() === all);\
            fire('search', 'assert', 'input'); say(document.querySelectorAll('li.hit').length > 0); key('n'); say(now() !== 'step-1');\
            say(document.querySelectorAll('.sl.now').length > 0); say(document.querySelectorAll('#values td').length > 0)";
        let shown = open(browser, name, &page(name, arguments), "#step-2", script);
        let steps = shown.dom.matches("<li ").count();
        let last = format!("step-{}", shown.dom.matches("id=\"step-").count());
        let said = shown.said();
        assert!(steps > 3, "{name}: {steps} steps");
        assert_eq!(said[..4], ["step-2", "step-3", &last, "step-1"], "{name}");
        assert_eq!(said[4..10], ["true"; 6], "{name}");
        assert_eq!(said[10..], ["requests 0"], "{name}");
        assert_eq!(shown.console, "", "{name}");
    }
}

#[test]
fn messages_are_arrows_and_a_link_leads_to_where_they_are_sent() {
    let Some(browser) = chromium() else { return };
    let script = "say(document.querySelectorAll('#arrows path.message').length);\
        const a = document.querySelector('#step-7 .links a'); say(a.getAttribute('href')); a.click();\
        setTimeout(() => say(now()), 500)";
    let shown = open(browser, "links", &page("links", &["trace", "examples/mcapi.ctp"]), "#step-7", script);
    assert_eq!(shown.said(), ["3", "#step-5", "requests 0", "step-5"]);
    assert_eq!(shown.console, "");
}

#[test]
fn a_hostile_text_stays_a_text() {
    let Some(browser) = chromium() else { return };
    let file = std::env::temp_dir().join(format!("fabius-browser-{}-hostile.fab", std::process::id()));
    let text = "</script><script>say('broken')</script><img src=x onerror=say('broken')>";
    std::fs::write(&file, format!("var x: bool;\n// {text}\ninit {{ assert x, \"{text}\"; }}\n")).expect("written");
    let page = page("hostile", &["check", &file.display().to_string()]);
    std::fs::remove_file(&file).expect("it was written");
    let script = "say(document.querySelectorAll('img').length); say(document.querySelector('h1').textContent.includes('onerror'))";
    let shown = open(browser, "hostile", &page, "", script);
    assert_eq!(shown.said(), ["0", "true", "requests 0"]);
    assert_eq!(shown.console, "");
}

/// A test that fails, checked here.
#[test]
fn the_page_of_a_rust_test_has_its_threads_and_its_race() {
    let Some(browser) = chromium() else { return };
    struct Shared(fabius::cell::UnsafeCell<u32>);
    // The point of the test: they race.
    unsafe impl Sync for Shared {}
    let report = fabius::Config::new().name("browser_data_race").explore(|| {
        let shared = std::sync::Arc::new(Shared(fabius::cell::UnsafeCell::new(0)));
        let theirs = shared.clone();
        let other = fabius::thread::spawn(move || {
            // What comes before its first operation would belong to the step of the other.
            fabius::thread::yield_now();
            theirs.0.with_mut(|_| ());
        });
        shared.0.with_mut(|_| ());
        let _ = other.join();
    });
    let saved = report.saved.expect("the test fails, and its trace is saved");
    let page = std::fs::read_to_string(saved.with_extension("html")).expect("a page is beside it");
    let script = "say(document.querySelectorAll('.lanes span').length); say(document.querySelectorAll('#arrows path.race').length);\
        key('End'); say(now() === 'step-1'); say(document.querySelectorAll('.sl.now').length);\
        say(document.querySelector('header').textContent.includes('FABIUS_REPLAY='))";
    let shown = open(browser, "rust", &page, "", script);
    assert_eq!(shown.said(), ["2", "1", "false", "1", "true", "requests 0"]);
    assert_eq!(shown.console, "");
}

#[test]
fn a_livelock_says_from_where_on_it_repeats() {
    let Some(browser) = chromium() else { return };
    let file = std::env::temp_dir().join(format!("fabius-browser-{}-livelock.fab", std::process::id()));
    let polite = "loop { want[i] = true; if !want[1 - i] { break; } want[i] = false; }";
    let text =
        format!("var want: [bool; 2];\nproc p(i: 0..1) {{ {polite} progress; }}\ninit {{ spawn p(0); spawn p(1); }}\n");
    std::fs::write(&file, text).expect("written");
    let page = page("livelock", &["check", &file.display().to_string(), "--livelock", "--max", "4"]);
    std::fs::remove_file(&file).expect("it was written");
    let script =
        "say(document.querySelectorAll('.mark.cycle').length); say(document.querySelector('.mark.cycle').textContent)";
    let shown = open(browser, "livelock", &page, "", script);
    assert_eq!(shown.said(), ["1", "from here on everything repeats", "requests 0"]);
    assert_eq!(shown.console, "");
}

#[test]
fn ten_thousand_steps_are_stepped_through() {
    let Some(browser) = chromium() else { return };
    let file = std::env::temp_dir().join(format!("fabius-browser-{}-long.fab", std::process::id()));
    std::fs::write(&file, "var x: int;\nprocess p[1] { for i in 1..5000 { x = x + 1; } assert x == 0; }\n")
        .expect("written");
    let page = page("long", &["check", &file.display().to_string()]);
    std::fs::remove_file(&file).expect("it was written");
    let script = "const steps = document.querySelectorAll('.steps li').length; say(steps >= 10000);\
        say(document.querySelectorAll('*').length < 20 * steps); say(now()); key('ArrowDown'); say(now()); key('End'); say(now() === 'step-' + steps);\
        fire('search', 'x == 0', 'input'); say(document.querySelectorAll('li.hit').length);\
        say([...document.querySelectorAll('#values td')].some(td => td.textContent.includes('5000')))";
    let shown = open(browser, "long", &page, "#step-9000", script);
    assert_eq!(shown.said(), ["true", "true", "step-9000", "step-9001", "true", "1", "true", "requests 0"]);
    assert_eq!(shown.console, "");
}

/// The boxes of a page as a person sees them: for each step its marks, in which lane its box stands, and whether it is below
/// the one before. Pixels differ from machine to machine, this does not. A test that fails writes what it saw beside the
/// snapshot's path that it names; if that is right, copy it there.
#[test]
fn boxes_stand_in_their_lanes_one_below_the_other() {
    let Some(browser) = chromium() else { return };
    // When everything has its place.
    let script = "setTimeout(() => { const lanes = [...document.querySelectorAll('.lanes span')].map(l => [l.title, l.getBoundingClientRect()]);\
        let bottom = 0;\
        for (const li of document.querySelectorAll('.steps li')) {\
          const body = li.querySelector('.body').getBoundingClientRect(), text = document.createRange();\
          text.selectNodeContents(li.querySelector('.body > .r')); const box = text.getBoundingClientRect();\
          const lane = lanes.find(([_, l]) => l.left - 9 <= box.left && box.left < l.right - 40);\
          const marks = [...li.querySelectorAll('.mark, .then')].map(m => m.textContent).join(', ');\
          const kinds = ['first', 'last'].filter(k => li.classList.contains(k)).join(' ');\
          const where = body.top < bottom - 1 ? 'over the last' : box.width < 10 || box.height < 10 ? 'too small' : 'below';\
          say([li.id, lane ? lane[0] : 'no lane', where, kinds, marks].join(' | ').replace(/[ |]+$/, ''));\
          bottom = body.bottom;\
        }\
        say(document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'too wide') }, 500)";
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for (name, arguments) in [
        ("bluetooth", ["check", "examples/bluetooth.fab"]),
        ("interrupt_driver", ["check", "corpus/buffers/bug/interrupt_driver.fab"]),
        ("mcapi", ["trace", "examples/mcapi.ctp"]),
    ] {
        let shown = open(browser, name, &page(name, &arguments), "", script);
        let seen = shown.said().join("\n") + "\n";
        let path = snapshots.join(format!("page_{name}.txt"));
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        if seen != wanted {
            let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page_{name}.txt"));
            std::fs::write(&new, &seen).expect("what was seen can be written");
            panic!("{} is not what {} shows; if that is right, copy it\n{seen}", path.display(), new.display());
        }
    }
}

#[test]
fn a_narrow_window_holds_everything() {
    let Some(browser) = chromium() else { return };
    let script = "setTimeout(() => { say(innerWidth); say(document.documentElement.scrollWidth <= innerWidth);\
        say([...document.querySelectorAll('header, .bar, .steps .body, .source, .state')].every(e => e.getBoundingClientRect().right <= innerWidth));\
        const scroll = document.querySelector('.scroll'); say(scroll.scrollWidth <= scroll.clientWidth);\
        key('ArrowDown'); say(now()); }, 500)";
    for (name, arguments) in [
        ("narrow", ["check", "examples/bluetooth.fab"]),
        ("narrow-buffers", ["check", "corpus/buffers/bug/interrupt_driver.fab"]),
        ("narrow-messages", ["trace", "examples/mcapi.ctp"]),
    ] {
        let shown = open_in("500,900", browser, name, &page(name, &arguments), "#step-2", script);
        assert_eq!(shown.said(), ["requests 0", "500", "true", "true", "true", "step-3"], "{name}");
        assert_eq!(shown.console, "", "{name}");
    }
}
