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

/// Opens the page at `#hash`, runs `script` in it, which writes with `say`, and looks at what became of it.
fn open(browser: &str, name: &str, page: &str, hash: &str, script: &str) -> Shown {
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
        .args(["--window-size=1400,900", "--dump-dom"])
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
    let pages: [(&str, &[&str]); 4] = [
        ("check", &["check", "examples/bluetooth.fab"]),
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
