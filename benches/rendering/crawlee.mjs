// Crawls a site by Crawlee's PlaywrightCrawler, and stores title, URL and DOM of each page in its data set.
//
//     node crawlee.mjs URL PAGES PROGRAM      where node_modules has crawlee and playwright
import { PlaywrightCrawler } from "crawlee";

const [url, pages, program] = process.argv.slice(2);
const crawler = new PlaywrightCrawler({
  launchContext: { launchOptions: { executablePath: program, headless: true } },
  // or it takes fewer where others use the machine
  minConcurrency: Number(pages),
  maxConcurrency: Number(pages),
  respectRobotsTxtFile: true,
  async requestHandler({ request, page, enqueueLinks, pushData }) {
    await page.waitForLoadState("networkidle");
    await enqueueLinks({ strategy: "same-hostname" });
    await pushData({ url: request.loadedUrl, title: await page.title(), html: await page.content() });
  },
});
await crawler.run([url]);
