// One formula a line in, as JSON {tex, display}; one line out, {html} or {error}.
const katex = require("katex");
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { tex, display } = JSON.parse(line);
  const options = { displayMode: display, output: "htmlAndMathml", strict: "error", throwOnError: true };
  let answer;
  try {
    answer = { html: katex.renderToString(tex, options) };
  } catch (error) {
    answer = { error: error.message };
  }
  console.log(JSON.stringify(answer));
});
